import { afterEach, expect, test } from 'bun:test';
import { basename, join } from 'node:path';
import { waitFor } from '../../support/answers.ts';
import { MountedFolder } from '../../support/mounted-folder.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { textOf, yamlOf } from './manifests.ts';

const FOLDER = 'deploy/kubernetes';
/** Four times the promised time, ms, because test machines are busy. */
const IN_FORCE_MS = 4_000;

type Files = Readonly<Record<string, string>>;

const shipped: Files = Object.fromEntries(
  yamlOf(`${FOLDER}/kustomization.yaml`).configMapGenerator[0].files.map((file: string) => [
    basename(file),
    textOf(join(FOLDER, file)),
  ]),
);
const keptFor = (days: number | string): Files => ({
  ...shipped,
  'signalbox.yaml': shipped['signalbox.yaml']?.replace('retention_days: 30', `retention_days: ${days}`) ?? '',
});

let box: Signalbox | null = null;
afterEach(async () => {
  await box?.stop();
  box = null;
});

async function policyOf({ get }: Signalbox) {
  return (await (await get('/readyz')).json()) as { policy_revision: string; policy: { state: string } };
}

test('an edit of the ConfigMap takes effect without a restart, and a bad edit changes nothing', async () => {
  const folder = new MountedFolder(shipped);
  box = await startSignalbox({ args: ['--policies', folder.path] });
  const server = box;
  const { policy_revision: first } = await policyOf(server);

  folder.update(keptFor(31));
  await waitFor(async () => (await policyOf(server)).policy_revision !== first, IN_FORCE_MS);
  const { policy_revision: second } = await policyOf(server);

  folder.update(keptFor('a while'));
  await waitFor(async () => (await policyOf(server)).policy.state === 'edit_refused', IN_FORCE_MS);
  expect((await policyOf(server)).policy_revision).toBe(second);

  folder.update(shipped);
  await waitFor(async () => (await policyOf(server)).policy_revision === first, IN_FORCE_MS);
  expect((await policyOf(server)).policy.state).toBe('in_force');
  folder.remove();
});
