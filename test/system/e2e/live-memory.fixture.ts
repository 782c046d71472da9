import { heapStats } from 'bun:jsc';

/** A server preloads this file. On a signal the server collects garbage and prints the memory that is left. */
process.on('SIGUSR2', async () => {
  Bun.gc(true);
  await Bun.sleep(50);
  Bun.gc(true);
  const live = { heap: heapStats().heapSize, resident: process.memoryUsage.rss() };
  console.log(JSON.stringify({ level: 'info', message: 'live memory', ...live }));
});
