// Sends an order with one key until it gets a response.
const [url, key] = process.argv.slice(2);

async function order() {
  for (let i = 0; i < 200; i++) {
    try {
      const answer = await fetch(url, {
        method: "POST",
        body: '{"sku":"book"}',
        headers: { "Content-Type": "application/json", "Idempotency-Key": key },
        signal: AbortSignal.timeout(150),
      });
      if (answer.status !== 409 && answer.status !== 503) {
        return [answer.status, answer.headers.get("Idempotent-Replayed"), await answer.text()];
      }
    } catch (e) {
      if (e.name !== "TimeoutError" && e.name !== "TypeError") throw e; // timeout, or no connection
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error("no answer");
}

console.log(...(await order()));
