# Go calls futex(2) directly, which no preload sees; the C code below it takes pthread's locks, in
# threads that Go creates.
title="Go with cgo"
needs="go cc"
packages="golang-go gcc"
prepare() {
    mkdir "$folder/go"
    cp scripts/real-programs/sources/cgo.go "$folder/go/main.go"
    (
        cd "$folder/go"
        # With the installed toolchain, and without a network.
        export GOTOOLCHAIN=local GOPROXY=off GO111MODULE=off GOFLAGS= CGO_ENABLED=1
        export GOCACHE="$folder/go/cache"
        go build -o cgo main.go
    )
}
run() {
    on_side "$folder/go/cgo" "$(by_size 20000 150000)"
}
