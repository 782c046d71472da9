import { expect, test } from 'bun:test';
import { shipped } from '../../../../plugins/index.ts';
import { bundleOf } from '../../../../src/admin/use-cases/policy/bundles.ts';
import { push } from '../../../../src/admin/use-cases/policy/push.ts';
import { rehearse } from '../../../../src/admin/use-cases/policy/rehearse.ts';
import { editNotes } from '../../../../src/admin/use-cases/policy/write.ts';
import { createPluginLoader } from '../../../../src/host/plugins/load.ts';
import { buildCandidate, isRejected } from '../../../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../../../src/policy/runtime/parse-files.ts';
import { SERVER } from '../../../../src/store/trail.ts';
import { SMALL } from '../../../policy/support.ts';
import { openMemoryStore } from '../../../store/memory/driver.ts';
import { report } from '../../../store/suites/instance-reports.ts';
import { waitFor } from '../../../support/answers.ts';

const after = bundleOf([{ path: 'p.yaml', text: SMALL }]);
const candidate = await buildCandidate(after, {
  ...{ folder: '.', shipped, loader: createPluginLoader(), env: { get: () => undefined } },
  ...{ now: () => 0, parse: parseFiles, rehearse },
});

/** Pushes to an empty store, with a clock that always shows `now`. */
async function pushOn(store: ReturnType<typeof openMemoryStore>, now = 0) {
  if (isRejected(candidate)) throw new Error('the policy of the test is not valid');
  const edit = { before: bundleOf([]), after, edits: [], candidate };
  const notes = editNotes(
    SERVER,
    { store, now: () => now },
    { ...edit, patch: '', guarded: [], previous: null, revision: 'r' },
  );
  return await push(edit, notes, { store, isServed: async () => true, now: () => now });
}

test('a push waits for a server that does not check it, until the lease of that server has ended', async () => {
  const store = openMemoryStore();
  const silent = report(1, { follows: 'store' });
  await store.commit([store.instanceReports.put(silent)]);
  let hasLease = true;
  let looks = 0;
  const present = async () => {
    looks++;
    return hasLease ? [{ slot: 1, epoch: 1, renewed: 0 }] : [];
  };
  Object.assign(store.instanceReports, { present });
  const pushed = pushOn(store);
  await waitFor(() => looks > 3);
  expect([await store.pushedPolicies.head(), (await store.pushedPolicies.offered())?.id]).toEqual([null, 1]);
  hasLease = false;
  expect(await pushed).toMatchObject({ id: 1, state: 'accepted' });
});

test('a push does not wait for servers that use their policy files', async () => {
  const store = openMemoryStore();
  await store.commit([store.instanceReports.put(report(1, { follows: 'files' }))]);
  expect(await pushOn(store)).toMatchObject({ id: 1, state: 'accepted' });
});

test('an abandoned push blocks other pushes for a minute', async () => {
  const store = openMemoryStore();
  const left = { id: 1, base: 0, revision: 'r', source: '[]', plugins: [], time: 0 };
  await store.commit([store.pushedPolicies.offer(left)]);
  await expect(pushOn(store, 60_000)).rejects.toMatchObject({ code: 'conflict' });
  expect(await pushOn(store, 60_001)).toMatchObject({ id: 2, state: 'accepted' });
  expect(await store.pushedPolicies.find(1)).toMatchObject({ state: 'refused' });
});
