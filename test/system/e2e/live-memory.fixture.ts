import { heapStats } from 'bun:jsc';

/** Preloaded into the server: on a signal it collects its garbage and prints what is left. */
process.on('SIGUSR2', async () => {
  Bun.gc(true);
  await Bun.sleep(50);
  Bun.gc(true);
  const live = { heap: heapStats().heapSize, resident: process.memoryUsage.rss() };
  console.log(JSON.stringify({ level: 'info', message: 'live memory', ...live }));
});
