import { startPostgres } from './postgres.ts';

/** `npm run postgres`: a PostgreSQL on this machine, to try a store with. Ctrl-C stops it and deletes its data, also while it starts. */
const starting = startPostgres({ isDurable: true });
let isStopping = false;
async function stop(): Promise<void> {
  isStopping = true;
  // Where the start fails, it has removed its own files.
  await starting.then((server) => server[Symbol.asyncDispose]()).catch(() => {});
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop());

try {
  const server = await starting;
  await server.create('signalbox');
  console.log(`export DATABASE_URL=${server.urlOf('signalbox')}
# PostgreSQL runs until you press Ctrl-C, which also deletes its data.`);
} catch (cause) {
  if (!isStopping) throw cause;
}
