import { describe, expect, test } from 'bun:test';
import { copyFileSync, cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deeply } from '../../deep/deeply.ts';
import { quietFor, waitFor } from '../../support/answers.ts';
import { runHere } from '../../support/run-here.ts';
import { makeTestKey, type Signalbox } from '../../support/signalbox.ts';
import { chat, end, useServers } from './stand.ts';

/** A server must not start with other books than it had before, because money would be spent twice. */
const PATIENCE = 60_000;
const env = { SIGNALBOX_API_KEY: makeTestKey() };
const { newFolder, start: startWith } = useServers();
/** Starts a process, which releases its files when it ends. */
const start = (data: string, isProcess = true) => startWith(data, { env, isProcess });

async function charged(box: Signalbox): Promise<number> {
  const books = (await (await box.get('/admin/ledger')).json()) as { charged_credits: number };
  return books.charged_credits;
}

const database = (data: string) => join(data, 'signalbox.db');
const noteOf = (data: string) => join(data, 'ledger.id');
const entryIn = (data: string) => (JSON.parse(readFileSync(noteOf(data), 'utf8')) as { entry: number }).entry;

/** Starts a server, sends a chat, and ends the server when its note includes the chat. Returns the Credits charged so far. */
async function served(data: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
  const box = await start(data);
  const before = entryIn(data);
  await chat(box);
  const credits = await charged(box);
  // After a kill, the server has no time to write.
  if (signal === 'SIGKILL') await waitFor(() => entryIn(data) >= before + 2);
  await end(box, signal);
  return credits;
}

/** Returns the error of a refused start on a copy of the folder. The start must not create a database. */
async function refusal(folder: string): Promise<string> {
  const data = join(newFolder(), 'copy');
  // A killed server leaves the socket of its operator, which cannot be copied.
  cpSync(folder, data, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  const { code, err } = await runHere(['serve', '--port', '0', '--log', 'off', '--data', data]);
  expect([code, existsSync(database(data))]).toEqual([1, existsSync(database(folder))]);
  expect(err).toMatch(/^signalbox: [^\n]*\n$/);
  return err.replaceAll(data, folder);
}

describe('a start is refused in one sentence, and works once the files are back,', () => {
  deeply(
    'if the database is missing, empty, or belongs to another installation; without the note, the server starts with empty books',
    async () => {
      const [data, other] = [newFolder(), newFolder()];
      const credits = await served(data, 'SIGTERM');
      await end(await start(other));
      const away = join(newFolder(), 'signalbox.db');
      renameSync(database(data), away);
      const gone = await refusal(data);
      expect(gone).toMatch(/signalbox\.db is missing, but this data folder belongs to the ledger [0-9a-f]{8}\./);
      expect(gone).toEndWith(
        `Restore the files of that ledger, or restore a backup into an empty folder. To start anyway, delete ${noteOf(data)}.\n`,
      );
      copyFileSync(database(other), database(data));
      expect(await refusal(data)).toMatch(
        /is the ledger [0-9a-f]{8}, but this data folder belongs to the ledger [0-9a-f]{8}\./,
      );
      // A command that only reads works, and says to which ledger the books belong.
      const audit = await runHere(['ledger', 'audit', '--data', data]);
      expect([audit.code, audit.err]).toEqual([
        2,
        expect.stringContaining('but this data folder belongs to the ledger'),
      ]);
      writeFileSync(database(data), '');
      expect(await refusal(data)).toContain('has no ledger, but this data folder belongs to the ledger');

      copyFileSync(away, database(data));
      const box = await start(data);
      expect(await charged(box)).toBeCloseTo(credits, 6);
      await end(box);
      rmSync(database(data));
      rmSync(noteOf(data));
      expect(await charged(await start(data, false))).toBe(0);
      const { spool, ...noted } = JSON.parse(readFileSync(noteOf(other), 'utf8')) as { spool: object };
      for (const text of ['', JSON.stringify({ ...noted, spool: { ...spool, entries: -1 } })]) {
        writeFileSync(noteOf(other), text);
        expect(await refusal(other)).toContain(
          'ledger.id is damaged. Signalbox uses it to check that signalbox.db and settlements.spool',
        );
      }
      // A note as written before it included the spool.
      writeFileSync(noteOf(other), JSON.stringify(noted));
      await end(await start(other, false));
      expect(JSON.parse(readFileSync(noteOf(other), 'utf8'))).toMatchObject({ ...noted, spool: { since: null } });
    },
    PATIENCE,
  );

  deeply(
    'if the write-ahead log is missing after kill -9, at the first start and later',
    async () => {
      const data = newFolder();
      const away = join(newFolder(), 'wal');
      const wal = `${database(data)}-wal`;
      const withoutLog = async () => {
        renameSync(wal, away);
        const found = await refusal(data);
        renameSync(away, wal);
        return found;
      };
      const first = await served(data, 'SIGKILL');
      expect(await withoutLog()).toContain('has no ledger, but this data folder belongs to the ledger');
      expect(await served(data, 'SIGTERM')).toBeGreaterThan(first);
      await served(data, 'SIGKILL');
      expect(await withoutLog()).toMatch(/ends at entry \d+ of its journal, but entry \d+ was already written/);
    },
    PATIENCE,
  );

  deeply(
    'a start is refused if an older copy replaces the database; without the note, the copy is accepted',
    async () => {
      const data = newFolder();
      const credits = await served(data, 'SIGTERM');
      const copy = join(newFolder(), 'copy.db');
      expect((await runHere(['ledger', 'backup', copy, '--data', data])).code).toBe(0);
      await served(data, 'SIGTERM');
      copyFileSync(copy, database(data));
      expect(await refusal(data)).toContain('it is an older copy');
      rmSync(noteOf(data));
      expect(await charged(await start(data, false))).toBeCloseTo(credits, 6);
      expect(entryIn(data)).toBeGreaterThan(0);
    },
    PATIENCE,
  );
});

test(
  'a note that is deleted while the server runs is written again only at the next start',
  async () => {
    const data = newFolder();
    const box = await start(data, false);
    await chat(box);
    rmSync(noteOf(data));
    await chat(box);
    await quietFor(1_500, 'a new note, which follows the journal each second', () => existsSync(noteOf(data)));
    await end(box);
    expect(existsSync(noteOf(data))).toBe(false);
    expect(box.lines.filter((line) => line.includes('ledger.id'))).toEqual([]);
  },
  PATIENCE,
);
