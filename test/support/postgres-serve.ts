import { startPostgres } from './postgres.ts';

/** `npm run postgres`: a PostgreSQL on this machine, to try a store with. Ctrl-C stops it and deletes its data, also while it starts. */
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
  // A Ctrl-C reaches the programs of PostgreSQL, too. Signals are handled when the loop turns.
  await new Promise(setImmediate);
  if (!stop.signal.aborted) throw cause;
}
process.exit(0);
