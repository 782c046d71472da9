import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deeply } from '../deep/deeply.ts';
import { answerOf, eventsOf, quietFor, waitFor } from '../support/answers.ts';
import { IN_FORCE_MS, type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { testPolicy } from '../support/policies.ts';
import { useUpstream } from '../support/use.ts';

const hello = [{ role: 'user', content: 'Say hello.' }];
const upstream = useUpstream();
let live: LivePolicy | null = null;

afterEach(async () => {
  await live?.stop();
  live = null;
});

/** A policy with a single model. */
const serving = (model: string, more = '') =>
  testPolicy({ first: upstream.url }, { [model]: { endpoints: ['first'] } }, more);
/** A file that adds a model to the policy. */
const adding = (model: string) => `models:
  ${model}:
    provider: first
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    quality: { default: 0.9, basis: guessed }
`;

async function start(files: Readonly<Record<string, string>>, layOut?: (folder: string) => void): Promise<LivePolicy> {
  live = await startLivePolicy(files, layOut && { layOut });
  return live;
}

const ask = async ({ box }: LivePolicy) =>
  (await answerOf(await box.post('/v1/chat/completions', { model: 'auto', messages: hello }))).platform;

/** Makes an edit, and expects another model under another revision within the promised time. */
async function expectServes(policy: LivePolicy, model: string, edit: () => void): Promise<void> {
  const { revision } = await policy.status();
  edit();
  const { revision: next } = await policy.changedFrom(revision);
  expect(await ask(policy)).toMatchObject({ routed_model: model, policy_revision: next });
}

describe('an edited policy is active soon after the last write:', () => {
  test('a file written in place', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    await expectServes(policy, 'two', () => policy.write('policy.yaml', serving('two')));
    await expectServes(policy, 'three', () => policy.write('policy.yaml', serving('three')));
  });

  test('a file written under another name and renamed, repeatedly: a watch on the file itself would get no more events', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    for (const model of ['two', 'three', 'four']) {
      await expectServes(policy, model, () => policy.replace('policy.yaml', serving(model)));
    }
    await expectServes(policy, 'five', () => policy.write('policy.yaml', serving('five')));
  });

  deeply('vim’s way: the old file is renamed to a backup, a new file is written, the backup is removed', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    await expectServes(policy, 'two', () => {
      renameSync(policy.file('policy.yaml'), policy.file('policy.yaml~'));
      policy.write('policy.yaml', serving('two'));
      unlinkSync(policy.file('policy.yaml~'));
    });
  });

  test('a file that is added, and removed', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    await expectServes(policy, 'better', () => policy.write('more.yml', adding('better')));
    await expectServes(policy, 'one', () => unlinkSync(policy.file('more.yml')));
  });

  test('a ConfigMap: files are links into `..data`, which is swapped', async () => {
    const write = (folder: string, at: string, model: string) => {
      mkdirSync(join(folder, at));
      writeFileSync(join(folder, at, 'policy.yaml'), serving(model));
    };
    const policy = await start({}, (folder) => {
      write(folder, '..2026_11_20_1', 'one');
      symlinkSync('..2026_11_20_1', join(folder, '..data'));
      symlinkSync('..data/policy.yaml', join(folder, 'policy.yaml'));
    });
    const models = ['two', 'three'];
    for (const [i, model] of models.entries()) {
      await expectServes(policy, model, () => {
        write(policy.folder, `..2026_11_20_${i + 2}`, model);
        symlinkSync(`..2026_11_20_${i + 2}`, policy.file('..data_tmp'));
        renameSync(policy.file('..data_tmp'), policy.file('..data'));
        rmSync(policy.file(`..2026_11_20_${i + 1}`), { recursive: true });
      });
    }
  });

  deeply('the whole folder is replaced, and then edited again', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    await expectServes(policy, 'two', () => {
      mkdirSync(`${policy.folder}.new`);
      writeFileSync(join(`${policy.folder}.new`, 'policy.yaml'), serving('two'));
      renameSync(policy.folder, `${policy.folder}.old`);
      renameSync(`${policy.folder}.new`, policy.folder);
    });
    await expectServes(policy, 'three', () => policy.write('policy.yaml', serving('three')));
  });

  deeply('a file that a link in another folder points to', async () => {
    const policy = await start({}, (folder) => {
      mkdirSync(join(folder, '../elsewhere'));
      writeFileSync(join(folder, '../elsewhere/policy.yaml'), serving('one'));
      symlinkSync('../elsewhere/policy.yaml', join(folder, 'policy.yaml'));
    });
    await expectServes(policy, 'two', () => policy.write('../elsewhere/policy.yaml', serving('two')));
  });

  deeply('edits of many files at once cause a single reload', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `m${i}`);
    const files = Object.fromEntries(names.map((name) => [`${name}.yaml`, adding(name)]));
    const policy = await start({ 'policy.yaml': serving('one'), ...files });
    const { revision } = await policy.status();
    const before = await policy.metrics();
    for (const name of names) {
      unlinkSync(policy.file(`${name}.yaml`));
      policy.write(`${name}.yaml`, adding(`${name}-new`));
    }
    const { previous, models } = await policy.changedFrom(revision);
    expect(models).toBe(21);
    expect(previous).toMatchObject({ revision });
    expect(previous!.changes).toHaveLength(40);
    const applied = 'signalbox_policy_reloads_total{result="applied"}';
    const reloads = async () => (await policy.metrics()).get(applied)! - before.get(applied)!;
    await quietFor(400, 'a second reload, a tenth of a second after its edit', async () => (await reloads()) > 1);
    expect(await reloads()).toBe(1);
  });

  test('a file that is written in two halves is loaded when it is complete', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    const { revision } = await policy.status();
    const text = serving('two');
    for (const part of [0.3, 0.6, 0.9]) {
      policy.write('policy.yaml', text.slice(0, Math.floor(text.length * part)));
      await Bun.sleep(120);
    }
    policy.write('policy.yaml', text);
    const { last_reload: last } = await policy.changedFrom(revision);
    expect(last.result).toBe('applied');
    expect((await policy.metrics()).get('signalbox_policy_reloads_total{result="refused"}')).toBe(0);
  });

  deeply('a file that stays incomplete is reported, and can be fixed later', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    policy.write('policy.yaml', serving('two').slice(0, 400));
    const { last_reload: last } = await policy.refused();
    expect(last.diagnostics.length).toBeGreaterThan(0);
    await expectServes(policy, 'two', () => policy.write('policy.yaml', serving('two')));
  });
});

describe('reloads without waiting for the watch:', () => {
  test('SIGHUP reloads the policy files, and logs if they are unchanged', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    policy.box.signal('SIGHUP');
    const last = await waitFor(async () => {
      const { last_reload: latest } = await policy.status();
      return latest.cause === 'signal' ? latest : null;
    });
    expect(last.result).toBe('unchanged');
    const { revision } = await policy.status();
    policy.write('policy.yaml', serving('two'));
    policy.box.signal('SIGHUP');
    expect((await policy.changedFrom(revision)).last_reload.cause).toBe('signal');
  });

  test('POST /admin/policy/reload answers with the result of the reload', async () => {
    const policy = await start({ 'policy.yaml': serving('one') });
    const { revision } = await policy.status();
    policy.write('policy.yaml', serving('two'));
    const response = await policy.reload();
    expect(response.status).toBe(200);
    const answer = (await response.json()) as { revision: string };
    expect(answer).toMatchObject({ cause: 'request', result: 'applied', changes: [{ name: 'one' }, { name: 'two' }] });
    expect(answer.revision).not.toBe(revision);
    expect(response.headers.get('etag')).toBe(`"${answer.revision}"`);
    expect(await ask(policy)).toMatchObject({ routed_model: 'two', policy_revision: answer.revision });
    expect(await (await policy.reload({ 'if-match': answer.revision })).json()).toMatchObject({ result: 'unchanged' });
  });
});

describe('running requests', () => {
  test(
    'running requests end on the revision that they began with, both JSON and streams',
    async () => {
      const policy = await start({ 'policy.yaml': serving('one') });
      const { revision } = await policy.status();
      upstream.next(
        { text: ['from ', 'the ', 'old ', 'one'], betweenChunksMs: 300 },
        { text: 'old too', headersAfterMs: 1_200 },
      );
      const asked = upstream.requests.length;
      const stream = await policy.box.post('/v1/chat/completions', { model: 'auto', messages: hello, stream: true });
      const json = policy.box.post('/v1/chat/completions', { model: 'auto', messages: hello });
      await waitFor(() => upstream.requests.length === asked + 2);
      policy.write('policy.yaml', serving('two'));
      const { revision: next } = await policy.changedFrom(revision);
      expect(await ask(policy)).toMatchObject({ routed_model: 'two', policy_revision: next });
      const { chunks, done } = await eventsOf(stream);
      expect(done).toBe(true);
      expect(chunks.find((chunk) => chunk.platform)?.platform).toMatchObject({
        routed_model: 'one',
        policy_revision: revision,
      });
      expect((await answerOf(await json)).platform).toMatchObject({ routed_model: 'one', policy_revision: revision });
    },
    IN_FORCE_MS * 2,
  );
});
