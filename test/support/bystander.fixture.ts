/**
 * A client on a separate thread, which the work of the test cannot delay. The client sends requests one after another and measures how long
 * each answer takes. Any message makes it report the longest wait since the previous message, in ms. The request in progress counts.
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
  // A failed request counts as an infinite wait.
  worst = Math.max(worst, response.ok ? performance.now() - before : Number.POSITIVE_INFINITY);
  if (asked) {
    asked = false;
    postMessage(worst);
    worst = 0;
  }
  await Bun.sleep(5);
}
