// Runs a case on the server and passes on its events.

/** run runs a case, calls onEvent for every event, and returns the verdict. */
export async function run(id, direct, onEvent) {
  const answer = await fetch('/demo/run', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ case: id, direct }),
  });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `HTTP ${answer.status}`);
  for await (const { event, data } of messages(answer.body)) {
    if (event === 'event') onEvent(data);
    if (event === 'error') throw new Error(data.error);
    if (event === 'verdict') return data;
  }
  throw new Error('the stream ended early');
}

/** messages reads a stream of server-sent events. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const message = {};
      for (const line of part.split('\n')) {
        const at = line.indexOf(': ');
        message[line.slice(0, at)] = line.slice(at + 2);
      }
      yield { event: message.event, data: JSON.parse(message.data) };
    }
  }
}
