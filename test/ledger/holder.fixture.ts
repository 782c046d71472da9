/** A server that dies: holds 20 reservations of 100, has posted 30 to one and settled another, and waits for the end. */
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { extendOf, holdOf, NOON, nextId, postOf, settleOf } from '../store/suites/books.ts';

const store = await openSqlite(process.argv[2]!, [ledgerMigrations]);
const books = await openSqliteBooks({ store, now: () => NOON });
const ids = Array.from({ length: 20 }, nextId);
await books.apply(ids.map((id) => holdOf(id, [], 100)));
await books.apply([extendOf(ids[2]!, 1, 50)]);
await books.apply([postOf(ids[0]!, 1, 30), settleOf(ids[1]!, 70)]);
await store.flush();
console.log('ready');
setInterval(() => {}, 1_000_000);
