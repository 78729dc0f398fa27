"""Sends an order with one key until it gets a response."""

import sys
import time
import urllib.error
import urllib.request


def order(url, key):
    for _ in range(200):
        request = urllib.request.Request(
            url,
            data=b'{"sku":"book"}',
            method="POST",
            headers={"Content-Type": "application/json", "Idempotency-Key": key},
        )
        try:
            with urllib.request.urlopen(request, timeout=0.15) as answer:
                return answer.status, answer.headers.get("Idempotent-Replayed"), answer.read().decode()
        except urllib.error.HTTPError as e:
            if e.code not in (409, 503):  # in progress, or down: retry
                raise
        except OSError:  # timeout, outcome unknown: retry
            pass
        time.sleep(0.05)
    raise SystemExit("no answer")


print(*order(sys.argv[1], sys.argv[2]))
