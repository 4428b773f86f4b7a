# shellcheck shell=bash
# Servers of a script: started with a log each, waited for, and ended with the script. To be sourced; sets $folder, a new
# folder for whatever the script writes, which is removed at its end. Every wait ends after a minute.

folder=$(mktemp -d)
trap finish EXIT

# finish: ends every server, and removes the folder; the exit code stays what it was.
finish() {
    local status=$?
    trap '' INT TERM
    stop || true
    rm -rf "$folder"
    exit "$status"
}

# start NAME COMMAND...: starts a server. What it prints is appended to its log, $folder/NAME.log, which is empty at first.
start() {
    local name=$1
    shift
    : >"$folder/$name.log"
    "$@" >>"$folder/$name.log" 2>&1 </dev/null &
    echo $! >"$folder/$name.process"
}

# process NAME: its process id.
process() { cat "$folder/$1.process"; }

# running NAME: whether it has not ended.
running() { kill -0 "$(process "$1")" 2>/dev/null; }

# give_up NAME WHAT: ends the script, and shows the log of a server.
give_up() {
    echo "$(basename "$0"): $1 $2:" >&2
    sed 's/^/    /' "$folder/$1.log" >&2
    exit 1
}

# await NAME TEST...: waits until a test passes; gives up if the server has ended, or after a minute.
await() {
    local name=$1 deadline=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        running "$name" || give_up "$name" "has ended"
        [ "$SECONDS" -lt "$deadline" ] || give_up "$name" "is not ready after a minute"
        sleep 0.05
    done
}

# logged NAME PATTERN: whether a line of its log has the pattern.
logged() { grep -q "$2" "$folder/$1.log"; }

# address NAME LISTENER: where a gate listens, as its log says; nothing if it does not yet.
address() { sed -n 's/.*"address":"\([^"]*\)","listener":"'"$2"'".*/\1/p' "$folder/$1.log" | head -n 1; }

# port NAME LISTENER: the port of that.
port() { address "$@" | sed 's/.*://'; }

# number NAME: the first line of its log that is a number; the baselines of the benchmarks print their ports this way.
number() { grep -xm 1 '[0-9][0-9]*' "$folder/$1.log"; }

# await_gate NAME LISTENER...: waits until a gate listens.
await_gate() {
    local name=$1 listener
    shift
    for listener in "$@"; do await "$name" logged "$name" "\"listener\":\"$listener\""; done
}

# answers URL [OPTION OF curl...]: whether a request is answered with 200.
answers() { curl --silent --fail --max-time 5 --output /dev/null "$@"; }

# spent [NAME...]: the CPU time of all threads of servers, all by default, and of their children, in nanoseconds.
spent() {
    local name file process
    if [ $# -eq 0 ]; then
        for file in "$folder"/*.process; do set -- "$@" "$(basename "$file" .process)"; done
    fi
    for name in "$@"; do
        process=$(process "$name")
        for process in "$process" $(cat /proc/"$process"/task/*/children 2>/dev/null); do
            cat /proc/"$process"/task/*/schedstat 2>/dev/null || true
        done
    done | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# wrk_figures NANOSECONDS: what wrk has written to $folder/wrk: requests a second, the 99th percentile of their latency in milliseconds, the
# microseconds for one of the time that a server has spent, and the number of requests.
wrk_figures() {
    awk -v spent="$1" '/Requests\/sec/ { rate = $2 } / requests in / { count = $1 }
        $1 == "99%" { p99 = $2; unit = p99; sub(/[0-9.]+/, "", unit); sub(/[a-z]+/, "", p99)
            if (unit == "us") p99 /= 1000; if (unit == "s") p99 *= 1000 }
        END { print rate, p99, spent / count / 1000, count }' "$folder/wrk"
}

# stop [NAME...]: ends servers, all by default, and waits for them; returns the exit code of the last that was not 0.
stop() {
    local name file deadline=$((SECONDS + 60)) status=0
    if [ $# -eq 0 ]; then
        for file in "$folder"/*.process; do [ ! -f "$file" ] || set -- "$@" "$(basename "$file" .process)"; done
    fi
    for name in "$@"; do kill "$(process "$name")" 2>/dev/null || true; done
    for name in "$@"; do
        while running "$name"; do
            if [ "$SECONDS" -ge "$deadline" ]; then
                echo "$(basename "$0"): $name did not stop within a minute and is killed" >&2
                kill -9 "$(process "$name")" 2>/dev/null || true
                break
            fi
            sleep 0.05
        done
        wait "$(process "$name")" || status=$?
        rm -f "$folder/$name.process"
    done
    return "$status"
}
