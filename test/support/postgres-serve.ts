import { startPostgres } from './postgres.ts';

/** `npm run postgres`: a PostgreSQL on this machine, to try a store with, until Ctrl-C. It keeps its data no longer. */
const server = await startPostgres({ isDurable: true });
await server.create('signalbox');
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void server[Symbol.asyncDispose]().then(() => process.exit(0)));
}
console.log(`export DATABASE_URL=${server.urlOf('signalbox')}
# PostgreSQL runs until this program ends (Ctrl-C), and its data with it.`);
