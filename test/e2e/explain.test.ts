import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseId } from '../../src/core/id.ts';
import { adviceOf, answerOf, waitFor } from '../support/answers.ts';
import { runHere } from '../support/run-here.ts';
import { cleanEnvironment, PROGRAM, type Signalbox, startSignalbox, writePolicy } from '../support/signalbox.ts';

const model = (id: string, [input, output]: readonly number[], quality: number, more = '') => `  ${id}:
    provider: sim
    price: { input: ${input}, output: ${output} }
    context_window: 100000
    max_output: 8192
    quality: { default: ${quality} }
    latency: { ttft_ms: 5, output_tokens_per_second: 10000 }
${more}`;

const POLICY = `version: 1
providers:
  sim: { adapter: simulated }
  absent: { adapter: openai-compatible, base_url: "https://api.example.com/v1", api_key_env: NOT_SET }
models:
${model('best', [3, 12], 0.9, '    capabilities: [vision]\n    tags: [eu]\n')}${model('good', [1, 4], 0.8, '    tags: [eu]\n')}${model('cheap', [0.1, 0.4], 0.6)}${model('elsewhere', [1, 4], 0.7).replace('sim', 'absent')}constraints:
  - name: figure
    when: 'request.metadata.n != "" && double(request.metadata.n) > 3.0'
    require: 'model.id != "best"'
  - name: eu-only
    when: 'key.labels.team == "legal"'
    require: '"eu" in model.tags'
preferences:
  - name: night-shift
    when: time.hour < 6 && request.metadata.batch == "yes"
    prefer: model.id == "cheap"
    worth: 0.4
unstated_quality: default
`;

let folder: string;
let box: Signalbox;

beforeAll(async () => {
  folder = writePolicy(POLICY);
  box = await startSignalbox({ args: ['--policies', folder] });
});
afterAll(async () => {
  await box.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the command in this process. The command reads the same folder and database as a separate process would. */
const explainHere = (input: string, ...args: string[]) =>
  runHere(['policy', 'explain', ...args, '--policies', folder, '--data', box.data], {}, input);
const explain = (...args: string[]) => explainHere('', folder, ...args);

async function explained(...args: string[]) {
  const { out, code } = await explain('--json', ...args);
  return { ...(JSON.parse(out) as { choice: string; explanation: string[]; facts: object }), code };
}

const explainInput = (body: unknown, ...args: string[]) =>
  explainHere(typeof body === 'string' ? body : JSON.stringify(body), folder, '-', ...args);

/** Runs the command as a process, which reads its standard input. */
async function explainPiped(body: unknown, ...args: string[]) {
  const child = Bun.spawn([PROGRAM, 'policy', 'explain', folder, '-', ...args], {
    env: cleanEnvironment({}),
    stdin: new Blob([JSON.stringify(body)]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { out, err, code: await child.exited };
}

describe('signalbox policy explain', () => {
  test('`policy explain` shows the first hold if the provider stops after an abort', async () => {
    const shipped = join(import.meta.dir, '../../policies');
    const ask = (...more: string[]) => runHere(['policy', 'explain', shipped, '--model', 'sim-large', ...more]);
    const told = JSON.parse((await ask('--json')).out) as {
      first_hold_credits: number;
      candidates: { worst_case_credits: number }[];
    };
    expect(told.first_hold_credits).toBeGreaterThan(0);
    expect(told.first_hold_credits).toBeLessThan(told.candidates[0]!.worst_case_credits);
    expect((await ask()).out.replace(/\s+/g, ' ')).toContain(`${told.first_hold_credits} Credits are held first`);
    const whole = writePolicy(
      POLICY.replace('adapter: simulated', 'adapter: simulated, after_abort: { bills: whole }'),
    );
    const { out } = await runHere(['policy', 'explain', whole]);
    rmSync(whole, { recursive: true, force: true });
    expect(out).toContain('Credits, the cost of up to');
    expect(out).not.toContain('are held first');
  });

  test('`policy explain` prints a table of the models in their order, and an explanation in words', async () => {
    const { out, err, code } = await runHere(['policy', 'explain', folder]);
    expect({ err, code }).toEqual({ err: '', code: 0 });
    const [head, first, second, third] = out.split('\n');
    expect(head).toMatch(/^ +model +quality +Credits +latency +source$/);
    expect([first, second, third].map((line) => line!.slice(0, 8).trim())).toEqual(['1  best', '2  good', '3  cheap']);
    expect(out).toContain('best costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.9)');
    expect(out).toContain('Providers that cannot serve here: absent (NOT_SET is not set).');
    expect(out).toContain('Budgets and balances are not considered.');
    expect(out).not.toContain('\u001b');
  });

  test('`policy explain` says whether the order, the utility or the name of a model decides the order of the table', async () => {
    const shipped = join(import.meta.dir, '../../policies');
    const weights = JSON.stringify({
      ...{ model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] },
      route_strategy: { cost_weight: 0.5, quality_weight: 0.5 },
    });
    const orders: [string, string][] = [
      [
        (await runHere(['policy', 'explain', shipped, '--message', 'Say hello.'])).out,
        'the first one that is good enough is chosen.',
      ],
      [(await runHere(['policy', 'explain', shipped, '-'], {}, weights)).out, 'The highest utility wins.'],
      [(await runHere(['policy', 'explain', shipped, '--model', 'sim-small'])).out, 'sim-small was requested by name'],
    ];
    for (const [out, text] of orders) expect(out).toContain(text);
  });

  test('`policy explain` names the rule that rejects a model, with its file and line', async () => {
    const { out } = await explain('--label', 'team=legal');
    const line = POLICY.split('\n').findIndex((text) => text.includes('eu-only')) + 1;
    expect(out).toMatch(new RegExp(`^cheap +the policy rejects it: eu-only \\(policy\\.yaml:${line}\\)$`, 'm'));
    expect(out).toContain(`Constraints that apply: eu-only (policy.yaml:${line}).`);
  });

  test('`policy explain` says that the condition of a rule failed, and therefore counts as true', async () => {
    const { out } = await explain('--metadata', 'n=many');
    expect(out).toMatch(/^best +the policy rejects it: figure/m);
    expect(out).toMatch(/^The condition of figure failed, so Signalbox treated it as true: .+\.$/m);
    expect((await explain('--metadata', 'n=5')).out).not.toContain('counts as true');
  });

  test('`policy explain` shows the words of the question and of the system prompt that determined the task', async () => {
    const { out } = await explain('--message', 'Translate "good morning" into French');
    expect(out).toMatch(/Task: translation \(\d+ % likely, because of .*“Translate.*French”.*\)\./);
    const chat = {
      messages: [
        { role: 'system', content: 'Label each message: positive or negative. Reply with the label only.' },
        { role: 'user', content: 'The food was cold' },
      ],
    };
    const told = JSON.parse((await explainInput(chat, '--json')).out);
    expect(told.task_reasons).toMatchObject({ task: 'classification' });
    expect(told.task_reasons.words[0]).toEqual({
      text: expect.any(String),
      of: 'system prompt',
      adds: expect.any(Number),
    });
    // If the caller names the task, no words determined it.
    const named = await explain('--task', 'coding', '--json');
    expect(JSON.parse(named.out).task_reasons).toBeNull();
  });

  test('`policy explain` accepts the time, metadata, the models of the key, weights and sizes as flags', async () => {
    expect((await explained('--time', '2026-11-20T03:00:00Z', '--metadata', 'batch=yes')).choice).toBe('cheap');
    expect((await explained('--time', '2026-11-20T13:00:00Z', '--metadata', 'batch=yes')).choice).toBe('best');
    expect((await explained('--key-models', 'good,cheap')).choice).toBe('good');
    expect((await explained('--cost-weight', '1', '--quality-weight', '0')).choice).toBe('cheap');
    const timed = await explained('--cost-weight', '0', '--quality-weight', '0', '--latency-weight', '1');
    expect(timed.facts).toMatchObject({ route_strategy: { cost_weight: 0, quality_weight: 0, latency_weight: 1 } });
    const { facts, choice } = await explained('--model', 'good', '--input-tokens', '9000', '--output-tokens', '70');
    expect(choice).toBe('good');
    expect(facts).toMatchObject({ pinned: true, estimated_input_tokens: 9000, estimated_output_tokens: 70 });
  });

  test('`policy explain` reads a chat request or a route query from a file, and flags override it', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const file = join(folder, 'request.json');
    writeFileSync(file, JSON.stringify({ messages: [{ role: 'user', content: [image] }], max_tokens: 50 }));
    expect(await explained(file)).toMatchObject({ choice: 'best', facts: { needs: ['vision'], max_tokens: 50 } });
    writeFileSync(file, JSON.stringify({ model: 'good', task_type: 'coding' }));
    expect(await explained(file)).toMatchObject({ choice: 'good', facts: { task: 'coding' } });
    expect((await explained(file, '--model', 'cheap')).choice).toBe('cheap');
  });

  test('`policy explain` decides as the server does', async () => {
    const body = { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 60 };
    const { platform } = await answerOf(await box.post('/v1/chat/completions', body));
    const { out } = await explainPiped(body, '--json');
    expect(JSON.parse(out)).toMatchObject({
      choice: platform.routed_model,
      route_reason: platform.route_reason,
      policy_revision: platform.policy_revision,
    });
  });

  test('`policy explain` accepts a whole chat with the additional fields of `/v1/route`', async () => {
    const chat = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 60, n: null, mine: 1 };
    const body = { ...chat, estimated_output_tokens: 40, constraints: { max_cost_credits: null } };
    const { decision_id: id } = await adviceOf(await box.post('/v1/route', { ...body, task_type: 'coding' }));
    const { choice, facts } = (await (await box.get(`/v1/decisions/${id}`)).json()) as Readonly<Record<string, object>>;
    const { out } = await explainInput(body, '--task', 'coding', '--json');
    expect(JSON.parse(out)).toMatchObject({ choice, facts });
    expect(facts).toMatchObject({ task: 'coding', max_tokens: 60, estimated_output_tokens: 40 });
  });

  test('`policy explain` says that a task type is unknown, as the server does', async () => {
    const { reasoning } = (await (await box.post('/v1/route', { task_type: 'codign' })).json()) as {
      reasoning: string;
    };
    const note = 'The task type "codign" is unknown, so Signalbox used the task general.';
    expect(reasoning).toStartWith(note);
    expect((await explain('--task', 'codign')).out).toContain(
      `\n${note}\nThe request names auto, and its task is general`,
    );
    expect((await explain('--task', 'Coding')).out).not.toContain('counts as general');
  });

  test('`policy explain --json` prints the models that are not set up, as `policy check` does', async () => {
    expect(await explained()).toMatchObject({ left_out_here: ['absent (NOT_SET is not set)'] });
  });

  test('`policy explain` exits with 2 for a refusal, and says what would allow a model', async () => {
    const { out, code } = await explainInput({ constraints: { max_cost_credits: 0.01 } });
    expect(code).toBe(2);
    expect(out).toMatch(/Refused with no_eligible_model: .*change max_cost_credits from 0\.01 to 0\.21 to use `cheap`/);
    expect(out).toMatch(/^best +its expected cost of 6\.3 Credits is above max_cost_credits$/m);
  });

  test('`policy explain` exits with 1 and a sentence if it cannot run', async () => {
    const empty = writePolicy(
      POLICY.replace('sim: { adapter: simulated }', 'sim: { adapter: simulated, api_key_env: NOT_SET }'),
    );
    const wrong = writePolicy(POLICY.replace('context_window', 'contxt_window'));
    const cases: readonly (readonly [Promise<{ err: string; code: number }>, string])[] = [
      [explain('--model', 'nobody'), 'There is no model or selector `nobody`'],
      [explain('--model', 'elsewhere'), 'left out with its provider absent: NOT_SET is not set.'],
      [explain('--input-tokens', 'many'), '--input-tokens must be a whole number'],
      [explain('--input-tokens', '1.5'), '--input-tokens must be a whole number'],
      [explain('--metadata', 'x'), '--metadata must have the form name=value'],
      [explain('--time', 'noon'), '--time takes 2027-02-18 or'],
      [explain('--cost-weight', '-1'), '--cost-weight must be a number of at least 0'],
      [explain('gone.json'), 'gone.json cannot be read'],
      [explain('--colour'), 'colour'],
      [explain(folder), 'takes one policy folder and one file'],
      [explainInput('{'), 'The standard input is not JSON'],
      [explainInput([]), 'A request must be a JSON object'],
      [explainInput({ messages: [{ role: 'user', content: 7 }] }), '`messages[0].content` must be'],
      [explainInput({ task: 'coding' }), '`task` is not a known field'],
      [explainInput({ max_tokens: 5 }, '--task', 'coding'), '`max_tokens` is not a known field'],
      [explainHere('', empty), 'No provider of'],
      [explainHere('', wrong), 'To see why, run ./signalbox policy check'],
      [explainHere('', '/no/such/folder'), 'cannot be read'],
    ];
    for (const [running, words] of cases) {
      const { err, code } = await running;
      expect(err).toContain(words);
      expect(err).toMatch(/^signalbox: [^\n]+\n$/);
      expect(code).toBe(1);
    }
    for (const one of [empty, wrong]) rmSync(one, { recursive: true, force: true });
  });
});

describe('signalbox policy explain --decision', () => {
  const body = { model: 'auto', messages: [{ role: 'user', content: 'Why are there tides?' }] };
  const recorded = async (id: string, ...args: string[]) => {
    // A record is written with a later commit, so the command is repeated until it finds the record.
    const run = () => box.run('policy', 'explain', folder, '--decision', id, ...args);
    return waitFor(async () => {
      const result = await run();
      return result.err.includes('no decision with this ID') ? null : result;
    });
  };

  test('`--decision` repeats a decision while the server runs, and shows its attempts and receipt', async () => {
    const { platform } = await answerOf(await box.post('/v1/chat/completions', body));
    const { out, err, code } = await recorded(platform.decision_id);
    expect({ err, code }).toEqual({ err: '', code: 0 });
    expect(out).toStartWith(`${platform.decision_id}: chat with the key `);
    expect(out).toContain('is identical, bit for bit');
    expect(out).toMatch(/^attempt +model +upstream +ms +first ms +result$/m);
    expect(out).toMatch(/^sim +best +best +\d+ +\d+ +answered$/m);
    expect(out).toContain(`charged ${platform.credits_consumed} Credit`);
    expect(out).toMatch(/The same tokens would have cost .* on the runner-up and .* on the baseline\./);
  });

  test('`--decision --json` prints what the API returns', async () => {
    const { platform } = await answerOf(await box.post('/v1/chat/completions', body));
    const { out } = await recorded(platform.decision_id, '--json');
    const answer = (await (await box.get(`/v1/decisions/${platform.decision_id}`)).json()) as object;
    expect(JSON.parse(out)).toEqual(answer);
    expect(answer).toMatchObject({ left_out: ['absent (NOT_SET is not set)'] });
  });

  test('a key without the scope `admin` sees that a model is not set up, but not which variable is missing', async () => {
    const asked = { model: 'elsewhere', messages: body.messages };
    const made = (await (await box.post('/admin/keys', { name: 'caller', scopes: ['chat', 'route'] })).json()) as {
      key: string;
    };
    const ofCaller = { headers: { authorization: `Bearer ${made.key}` } };
    const refusals = await Promise.all([
      box.post('/v1/chat/completions', asked),
      box.post('/v1/chat/completions', asked, ofCaller),
    ]);
    const [toAdmin, toCaller] = await Promise.all(refusals.map(async (refused) => (await refused.json()) as object));
    const why = 'The model `elsewhere` is in the policy but cannot be served: left out with its provider absent';
    expect(toAdmin).toMatchObject({ error: { message: `${why}: NOT_SET is not set.` } });
    expect(toCaller).toMatchObject({ error: { message: `${why}.` } });
    const chat = await box.post('/v1/chat/completions', body, ofCaller);
    const { platform } = await answerOf(chat);
    const decision = await waitFor(async () => {
      const found = await box.get(`/v1/decisions/${platform.decision_id}`, ofCaller);
      return found.ok ? ((await found.json()) as object) : null;
    });
    expect(decision).toMatchObject({ left_out: null, replay: { matches: true } });
  });

  test('an edited record is reported as unreadable', async () => {
    const { platform } = await answerOf(await box.post('/v1/chat/completions', body));
    await recorded(platform.decision_id);
    const database = new Database(join(box.data, 'signalbox.db'));
    const id = parseId('dec_', platform.decision_id);
    database.run('PRAGMA busy_timeout = 5000');
    database.run('UPDATE records SET body = ? WHERE id = ?', ['["0",[]]', id]);
    database.close();
    const { err, code } = await recorded(platform.decision_id);
    expect([err, code]).toEqual([expect.stringContaining('The record of this decision cannot be read'), 1]);
    const answer = await box.get(`/v1/decisions/${platform.decision_id}`);
    expect([answer.status, await answer.json()]).toMatchObject([
      500,
      { error: { message: expect.stringContaining('cannot be read'), code: 'internal_error' } },
    ]);
  });

  test('`--decision` exits with 1 if the record or the database does not exist', async () => {
    const none = await box.run('policy', 'explain', '--decision', 'dec_00000000000');
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('There is no decision with this ID')]);
    const nowhere = await runHere(['policy', 'explain', '--decision', 'dec_00000000000', '--data', '/no/such/place']);
    expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining('There is no database in /no/such/place')]);
  });
});
