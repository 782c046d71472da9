import { heapStats } from 'bun:jsc';
import { test } from 'bun:test';
import { serveHere } from '../test/support/serve-here.ts';

/**
 * This server runs until its parent process sends `end`, and runs under `bun test`, which counts how often each line runs. On request, the
 * server reports how many objects of each type are on the heap. `bench/way.ts` starts it.
 */
const { SIGNALBOX_API_KEY, WAY_FOLDER, DATABASE_URL } = process.env;

test('serves', async () => {
  const args = ['serve', '--port', '0', '--data', `${WAY_FOLDER}/data`, '--policies', `${WAY_FOLDER}/policies`];
  const server = await serveHere(args, { SIGNALBOX_API_KEY, DATABASE_URL }, []);
  const ended = new Promise<void>((resolve) => {
    process.on('message', (message) => {
      if (message === 'end') return resolve();
      if (message === 'collect and count') Bun.gc(true);
      process.send?.({ objects: heapStats().objectTypeCounts });
    });
  });
  process.send?.({ port: Number(new URL(server.url).port) });
  await ended;
  await server.stop();
});
