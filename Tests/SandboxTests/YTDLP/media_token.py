# SPDX-License-Identifier: Apache-2.0
# Copyright the Playgate authors.
"""Gets a media token with yt-dlp as it is, from a service on this machine.

yt-dlp has the address of the one service written into it, and sends passwords over TLS only: here, both are turned to the
address of the stand-in just before a request goes out. Nothing else of it is touched.

Usage: media_token.py SERVICE CACHE MSO USER PASSWORD STATEMENT RESOURCE. Prints a JSON object.
"""

import json
import sys
import urllib.parse

from yt_dlp import YoutubeDL
from yt_dlp.extractor.adobepass import AdobePassIE


class StandInIE(AdobePassIE):
    """An extractor that wants nothing but a token."""

    _VALID_URL = r'standin:(?P<id>\w+)'

    def token(self, resource, statement):
        return self._extract_mvpd_auth('https://www.example.com/watch', 'video', 'REF30', resource, statement)


def main():
    service, cache, mso, user, password, statement, resource = sys.argv[1:]
    asked = []
    with YoutubeDL({
        'ap_mso': mso,
        'ap_username': user,
        'ap_password': password,
        'cachedir': cache,
        'quiet': True,
        'no_warnings': True,
        'noprogress': True,
        'retries': 0,
    }) as ydl:
        urlopen = ydl.urlopen
        place = urllib.parse.urlsplit(service)

        def urlopen_here(request):
            url = urllib.parse.urlsplit(request.url)
            if url.netloc not in ('sp.auth.adobe.com', place.netloc):
                raise SystemExit(f'asked for a page elsewhere: {url.netloc}')
            request.url = urllib.parse.urlunsplit(url._replace(scheme=place.scheme, netloc=place.netloc))
            asked.append({
                'path': url.path,
                'bearer': 'Authorization' in request.headers,
                'device': 'Ap_21' in request.headers or 'ap_21' in request.headers,
            })
            return urlopen(request)

        ydl.urlopen = urlopen_here
        extractor = StandInIE()
        extractor.set_downloader(ydl)
        token = extractor.token(resource, statement)
    print(json.dumps({'token': token, 'asked': asked}))


if __name__ == '__main__':
    main()
