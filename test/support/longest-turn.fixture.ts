import { readFileSync } from 'node:fs';

/**
 * Preloaded into the server: on a signal it prints the longest turn of its event loop since the last one, in ms of its main
 * thread's own time: what else runs on the machine does not count. Linux alone.
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
