import { expect, test } from 'bun:test';
import { shipped } from '../../plugins/index.ts';
import { rehearse } from '../../src/admin/use-cases/policy/rehearse.ts';
import { openRecords } from '../../src/gateway/records/records.ts';
import { createPluginLoader } from '../../src/host/plugins/load.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../src/policy/runtime/parse-files.ts';
import { StoredRuntimes } from '../../src/policy/runtime/stored-runtimes.ts';
import { saveRevision } from '../../src/server/policy-reload.ts';
import { SMALL } from '../policy/support.ts';
import { storeInMemory } from '../store/memory/store.ts';

const tools: PolicyTools = {
  ...{ folder: '.', shipped, loader: createPluginLoader(), env: { get: () => undefined } },
  ...{ now: () => 0, parse: parseFiles, rehearse },
};

async function candidateOf(text: string) {
  const found = await buildCandidate({ files: [{ path: 'p.yaml', text }], hash: 'h' }, tools);
  if (isRejected(found)) throw new Error(JSON.stringify(found));
  return found;
}

/** A store in which one instance has saved its policy, and the revisions that another instance finds in it. */
async function shared(text: string) {
  const store = storeInMemory();
  const records = openRecords({ store, tables: store.records, now: () => 0 });
  const candidate = await candidateOf(text);
  await saveRevision(records, candidate);
  let reads = 0;
  const find: typeof records.findRevision = (revision) => {
    reads++;
    return records.findRevision(revision);
  };
  return { store, candidate, records, stored: new StoredRuntimes({ tools, find }), reads: () => reads };
}

test('a server serves a quote with the quote’s revision, even if only another server has ever activated that revision', async () => {
  const { candidate, stored, reads } = await shared(SMALL);
  const { revision, models } = candidate.runtime.snapshot;
  const [first, second] = await Promise.all([stored.find(revision), stored.find(revision)]);
  expect(first?.snapshot.revision).toBe(revision);
  expect(first?.snapshot.models.map(({ id }) => id)).toEqual(models.map(({ id }) => id));
  expect(first?.upstreams.length).toBe(models.length);
  // The revision was built once.
  expect([second === first, (await stored.find(revision)) === first, reads()]).toEqual([true, true, 1]);
});

test('a server searches for an unknown revision again at the next request, and does not serve a revision whose text has changed', async () => {
  const { candidate, records, stored } = await shared(SMALL);
  expect(await stored.find('unknown')).toBeNull();
  const { surroundings } = candidate;
  const edited = JSON.stringify([{ path: 'p.yaml', text: `${SMALL}\n# edited` }]);
  await records.saveRevision({ revision: 'unknown', source: edited, models: [], surroundings });
  expect(await stored.find('unknown')).toBeNull();
  await records.saveRevision({
    revision: 'broken',
    source: '[{"path":"p.yaml","text":"models: ["}]',
    models: [],
    surroundings,
  });
  expect(await stored.find('broken')).toBeNull();
});
