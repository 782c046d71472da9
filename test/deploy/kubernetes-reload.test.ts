import { afterEach, expect, test } from 'bun:test';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { textOf, yamlOf } from './manifests.ts';

const FOLDER = 'deploy/kubernetes';
/** Four times what is promised, for machines that have more to do. */
const IN_FORCE_MS = 4_000;

type Files = Readonly<Record<string, string>>;

/** A folder of a ConfigMap, written as the kubelet writes it: every version beside the last one, and one link that is swapped. */
class ConfigMapFolder {
  readonly path = temporaryFolder();
  #version = 0;

  constructor(files: Files) {
    this.#write(files);
    symlinkSync(this.#name(), join(this.path, '..data'));
    for (const name of Object.keys(files)) symlinkSync(join('..data', name), join(this.path, name));
  }

  update(files: Files): void {
    const before = this.#name();
    this.#write(files);
    symlinkSync(this.#name(), join(this.path, '..data_tmp'));
    renameSync(join(this.path, '..data_tmp'), join(this.path, '..data'));
    rmSync(join(this.path, before), { recursive: true });
  }

  #write(files: Files): void {
    this.#version++;
    mkdirSync(join(this.path, this.#name()));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.path, this.#name(), name), text);
  }

  #name(): string {
    return `..2026_11_21_10_00_0${this.#version}.123456789`;
  }
}

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

test('The ConfigMap of the manifests takes effect when it is edited: nothing restarts, and a bad edit changes nothing', async () => {
  const folder = new ConfigMapFolder(shipped);
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
  rmSync(folder.path, { recursive: true });
});
