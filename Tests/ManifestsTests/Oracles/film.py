"""Plays an MPD with ffmpeg through a proxy that stands for all hosts, for the tests of Manifests.

usage: film.py FFMPEG FOLDER GRANT MODE

Serves FOLDER as `/film/` of `http://media.test`, which refuses what has not the grant where MODE (`segment` or `query`) says, but
for the MPD, or nothing if it is `open`; and as that of `http://ads.test`, which refuses what has it. Prints JSON: {"status", "frames": [video, audio],
"requests": [[URL, CODE]], "error"}.
"""
import http.server
import json
import os
import subprocess
import sys
import threading
from urllib.parse import parse_qsl, urlsplit

FFMPEG, FOLDER, GRANT, MODE = sys.argv[1:]
requests = []


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self):
        """The status and the file of a request."""
        url = urlsplit(self.path)
        path, shown = url.path, GRANT in self.path
        if MODE == "segment":
            has_grant = path.startswith(f"/~cat={GRANT}/")
            path = path.removeprefix(f"/~cat={GRANT}") if has_grant else path
        else:
            has_grant = dict(parse_qsl(url.query)).get("cat") == GRANT
        if url.hostname == "media.test":
            if not has_grant and not path.endswith(".mpd") and MODE != "open":
                return 403, None
        elif url.hostname != "ads.test" or shown:
            return 403, None
        file = os.path.join(FOLDER, os.path.basename(path))
        return (200, file) if path == "/film/" + os.path.basename(path) and os.path.isfile(file) else (404, None)

    def do_GET(self):
        status, file = self.answer()
        requests.append([self.path, status])
        body = open(file, "rb").read() if file else b""
        wanted = self.headers.get("Range", "")
        if file and wanted.startswith("bytes="):
            first, _, last = wanted[6:].partition("-")
            end = min(int(last) + 1, len(body)) if last else len(body)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{len(body)}")
            body = body[int(first):end]
        else:
            self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
environment = dict(os.environ, http_proxy=f"http://127.0.0.1:{server.server_address[1]}", no_proxy="")
run = subprocess.run([FFMPEG, "-nostdin", "-v", "error", "-i", "http://media.test/film/manifest.mpd", "-map", "0:v:0", "-map",
                      "0:a:0", "-f", "framecrc", "-"], env=environment, capture_output=True, text=True, timeout=300)
lines = [line for line in run.stdout.splitlines() if not line.startswith("#")]
print(json.dumps({"status": run.returncode, "frames": [sum(line.startswith(f"{stream},") for line in lines) for stream in (0, 1)],
                  "requests": requests, "error": run.stderr[-2000:]}))
