import { startPostgres } from './postgres.ts';

/**
 * `npm run postgres`: starts a PostgreSQL server on this machine for experiments. Ctrl-C stops PostgreSQL and deletes its data, even while
 * it starts.
 */
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));

try {
  await using server = await startPostgres();
  if (!stop.signal.aborted) {
    await server.create('signalbox');
    console.log(`export DATABASE_URL=${server.urlOf('signalbox')}
# PostgreSQL runs until you press Ctrl-C, which also deletes its data.`);
  }
  await stopped;
} catch (cause) {
  // Ctrl-C also reaches the PostgreSQL processes. This turn of the event loop lets this process handle the signal.
  await new Promise(setImmediate);
  if (!stop.signal.aborted) throw cause;
}
process.exit(0);
