# Charges once with Stripe's client, which retries by itself with one key.
import sys

import stripe

client = stripe.StripeClient("sk_test_x", base_addresses={"api": sys.argv[1]}, max_network_retries=3)
try:
    charge = client.v1.charges.create({"amount": 700, "currency": "usd", "description": sys.argv[2]})
    print(stripe.VERSION, "got", charge.id)
except stripe.StripeError as e:
    print(stripe.VERSION, "got an error:", e.http_status, str(e)[:80].replace("\n", " "))
