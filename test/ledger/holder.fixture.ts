/** A server that dies: holds 20 reservations of 100, has posted 30 to one and settled another, and waits for the end. */
import { held, line, open, order } from './support.ts';

const { ledger, store } = await open(process.argv[2]!);
const holds = await Promise.all(Array.from({ length: 20 }, () => held(ledger, order(100))));
await holds[2]!.raise(50);
holds[0]!.post(line(30));
holds[1]!.settle(line(70), () => []);
await store.flush();
console.log('ready');
setInterval(() => {}, 1_000_000);
