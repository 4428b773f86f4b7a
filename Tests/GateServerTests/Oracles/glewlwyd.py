"""Runs Debian's glewlwyd as an identity provider, for the tests of access tokens.

usage: glewlwyd.py FOLDER PORT

Makes its database and configuration in FOLDER, configures an OpenID Connect plugin with a key and a client, and prints a line of JSON:
  {"issuer": TEXT, "discovery": URL, "token": an access token (RS256, typ at+jwt) for the scope "tv"}
Then it reads lines from the named pipe "commands" in FOLDER, and answers each with such a line:
  rotate   signs with a new key, and still publishes the old ones
  replace  signs with a new key, and publishes no other
  token    another token
The server ends with this process.
"""
import base64
import ctypes
import gzip
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.parse

CLIENT, SECRET, SCOPE, AUDIENCE = "tv-client", "tv-secret", "tv", "https://play.example/"
SCHEMA = "/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz"
CONFIGURATION = """
port={port}
bind_address="127.0.0.1"
external_url="http://127.0.0.1:{port}/"
login_url="login.html"
api_prefix="api"
log_mode="file"
log_level="INFO"
log_file="{folder}/glewlwyd.log"
cookie_secure=0
session_key="GLEWLWYD2_SESSION_ID"
admin_session_authentication="cookie"
profile_session_authentication="cookie"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
hash_algorithm="SHA256"
database = {{ type = "sqlite3"; path = "{folder}/glewlwyd.db" }};
"""


def number(value):
    return base64.urlsafe_b64encode(value.to_bytes((value.bit_length() + 7) // 8, "big")).rstrip(b"=").decode()


def new_key(kid):
    """A private RSA key as a JWK."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_numbers()
    public = key.public_numbers
    numbers = {"n": public.n, "e": public.e, "d": key.d, "p": key.p, "q": key.q, "dp": key.dmp1, "dq": key.dmq1, "qi": key.iqmp}
    return {"kty": "RSA", "kid": kid, "alg": "RS256", "use": "sig", **{name: number(value) for name, value in numbers.items()}}


class Provider:
    def __init__(self, folder, port):
        self.folder, self.port, self.cookie, self.keys, self.made = folder, port, None, [], 0
        self.issuer = f"http://127.0.0.1:{port}/api/oidc"

    def ask(self, method, path, body=None, form=None, credentials=None):
        headers, data = {"Accept": "application/json"}, None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json"
        if form is not None:
            data, headers["Content-Type"] = urllib.parse.urlencode(form), "application/x-www-form-urlencoded"
        if credentials:
            headers["Authorization"] = "Basic " + base64.b64encode(credentials.encode()).decode()
        elif self.cookie:
            headers["Cookie"] = self.cookie
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        if path == "/api/auth/":
            self.cookie = (answer.getheader("Set-Cookie") or "").split(";")[0]
        connection.close()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {text}")
        return json.loads(text) if text.strip() else None

    def start(self):
        os.umask(0o077)
        database = sqlite3.connect(f"{self.folder}/glewlwyd.db")
        database.executescript("PRAGMA synchronous=OFF;BEGIN;" + gzip.open(SCHEMA, "rt").read() + ";COMMIT;")
        database.close()
        with open(f"{self.folder}/glewlwyd.conf", "w") as file:
            file.write(CONFIGURATION.format(port=self.port, folder=self.folder))
        library = ctypes.CDLL(None)
        self.server = subprocess.Popen(
            ["glewlwyd", f"--config-file={self.folder}/glewlwyd.conf"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            # It ends with this process, however that ends.
            preexec_fn=lambda: library.prctl(1, signal.SIGKILL),
        )
        while self.server.poll() is None:
            try:
                return self.ask("GET", "/config/")
            except OSError:
                time.sleep(0.05)
        raise SystemExit("glewlwyd ended")

    def add_key(self, keeps):
        self.made += 1
        self.keys = [new_key(f"key-{self.made}")] + (self.keys if keeps else [])
        # Its administrators must have logged in lately.
        self.ask("POST", "/api/auth/", {"username": "admin", "password": "password"})

    @property
    def plugin(self):
        parameters = {
            "iss": self.issuer, "jwks-private": json.dumps({"keys": self.keys}), "default-kid": self.keys[0]["kid"],
            "jwt-type": "rsa", "jwt-key-size": "256", "jwks-show": True, "access-token-duration": 3600,
            "refresh-token-duration": 3600, "code-duration": 600, "refresh-token-rolling": True, "allow-non-oidc": True,
            "auth-type-code-enabled": False, "auth-type-token-enabled": False, "auth-type-password-enabled": False,
            "auth-type-client-enabled": True, "auth-type-refresh-enabled": False, "subject-type": "public",
            "allowed-scope": ["openid", SCOPE], "resource-allowed": True, "resource-scope": {},
            "resource-client-property": "resource", "resource-scope-and-client-property": False,
            "resource-change-allowed": False,
        }
        return {"module": "oidc", "name": "oidc", "display_name": "oidc", "order_rank": 0, "readonly": False, "parameters": parameters}

    def configure(self):
        self.add_key(keeps=False)
        scope = {"name": SCOPE, "display_name": SCOPE, "description": SCOPE, "password_required": False, "scheme": {}}
        self.ask("POST", "/api/scope/", scope)
        self.ask("POST", "/api/mod/plugin/", self.plugin)
        self.ask("POST", "/api/client/", {
            "client_id": CLIENT, "name": CLIENT, "password": SECRET, "client_secret": SECRET, "confidential": True, "enabled": True,
            "scope": [SCOPE], "authorization_type": ["client_credentials"], "token_endpoint_auth_method": ["client_secret_basic"],
            "redirect_uri": ["http://127.0.0.1/"], "resource": [AUDIENCE],
        })

    def rotate(self, keeps):
        self.add_key(keeps)
        self.ask("PUT", "/api/mod/plugin/oidc", self.plugin)
        self.ask("PUT", "/api/mod/plugin/oidc/reset")

    def report(self):
        form = {"grant_type": "client_credentials", "scope": SCOPE, "resource": AUDIENCE}
        token = self.ask("POST", "/api/oidc/token", form=form, credentials=f"{CLIENT}:{SECRET}")["access_token"]
        discovery = self.issuer + "/.well-known/openid-configuration"
        print(json.dumps({"issuer": self.issuer, "discovery": discovery, "token": token}), flush=True)


provider = Provider(sys.argv[1], int(sys.argv[2]))
os.mkfifo(provider.folder + "/commands")
provider.start()
provider.configure()
provider.report()
while True:
    with open(provider.folder + "/commands") as commands:
        for line in commands:
            if line.strip() in ("rotate", "replace"):
                provider.rotate(keeps=line.strip() == "rotate")
            provider.report()
