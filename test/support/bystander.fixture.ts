/**
 * A client on a thread of its own: asks one thing after another and keeps how long each answer took.
 * The test's own work cannot hold it up. Any message asks for the worst since the last one, in ms,
 * the request that is under way included.
 */
declare const self: Worker;

const [url = ''] = process.argv.slice(-1);
let worst = 0;
let asked = false;

self.onmessage = () => {
  asked = true;
};

for (;;) {
  const before = performance.now();
  const response = await fetch(url);
  await response.arrayBuffer();
  // A failure is the longest wait of all.
  worst = Math.max(worst, response.ok ? performance.now() - before : Number.POSITIVE_INFINITY);
  if (asked) {
    asked = false;
    postMessage(worst);
    worst = 0;
  }
  await Bun.sleep(5);
}
