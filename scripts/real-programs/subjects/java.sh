# A JVM: its monitors and parked threads each sleep on a pthread mutex and condvar, and so do its
# collector and compilers.
title="JVM: java.util.concurrent, synchronized"
needs="java javac"
packages=openjdk-17-jdk-headless
prepare() {
    javac -d "$folder" scripts/real-programs/sources/Locks.java
}
run() {
    on_side java -Xmx256m -XX:+UseParallelGC -cp "$folder" Locks "$(by_size 20000 200000)"
}
