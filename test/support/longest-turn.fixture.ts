import { readFileSync } from 'node:fs';

/**
 * A server preloads this file. On a signal the file prints the longest turn of the server's event loop since the previous signal, in ms of
 * CPU time of its main thread, so that other work on the machine does not count. Linux only.
 */
const FILE = `/proc/self/task/${process.pid}/schedstat`;
const ownMs = (): number => Number(readFileSync(FILE, 'latin1').split(' ')[0]) / 1e6;
let before = ownMs();
let longest = 0;

function endTurn(): void {
  const now = ownMs();
  longest = Math.max(longest, now - before);
  before = now;
}

function turn(): void {
  endTurn();
  setTimeout(turn, 1);
}

turn();
process.on('SIGUSR2', () => {
  endTurn();
  console.log(JSON.stringify({ level: 'info', message: 'longest turn', ms: longest }));
  longest = 0;
});
