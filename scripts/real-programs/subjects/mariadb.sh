# A database server with a thread for each of sixteen clients, which update the same rows.
title="MariaDB, mysqlslap, 16 clients"
needs="mariadbd mariadb-install-db mariadb-slap mariadb mariadb-admin"
packages="mariadb-server-core mariadb-client"
prepare() {
    mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$folder/database" \
        --auth-root-authentication-method=normal --skip-test-db --innodb-log-file-size=8M \
        >"$folder/mariadb-install" 2>&1
}
client() {
    command=$1
    shift
    "$command" --no-defaults --socket="$mine/socket" --user=root "$@"
}
run() {
    cp -r "$folder/database" "$mine/database"
    # No waiting for the disk.
    serve mariadbd --no-defaults --user="$(id -un)" --datadir="$mine/database" \
        --socket="$mine/socket" \
        --skip-networking --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 \
        --innodb-doublewrite=0 --pid-file="$mine/pid" >"$mine/log" 2>&1 &
    server=$!
    until_done client mariadb-admin ping
    queries=$(by_size 8000 60000)
    client mariadb <<'SQL'
CREATE DATABASE work;
USE work;
CREATE TABLE counters (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB;
CREATE TABLE entries (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(40), KEY (word))
    ENGINE=InnoDB;
INSERT INTO counters SELECT seq, 0 FROM seq_1_to_50;
SQL
    # A quarter each.
    client mariadb-slap --create-schema=work --no-drop --concurrency=16 \
        --number-of-queries="$queries" \
        --delimiter=';' --query="UPDATE counters SET n = n + 1 WHERE id = 7;\
SELECT SUM(n) FROM counters;INSERT INTO entries (word) VALUES (SHA1(RAND()));\
UPDATE counters SET n = n + 1 WHERE id = 1 + FLOOR(RAND(4) * 50)" >"$mine/load" || cat "$mine/load"
    client mariadb work --execute="SELECT COUNT(*) FROM entries; SELECT SUM(n) FROM counters;\
 CHECK TABLE entries"
    client mariadb-admin shutdown
    wait "$server"
}
