import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, temporaryFolder } from '../support/signalbox.ts';
import { audit, type Findings, recoveryProblems } from './audit.ts';
import { type Journal, leftOf, readBeside, readCopy } from './journal.ts';
import { type Load, startLoad } from './load.ts';
import type { CrashPoint } from './points.ts';
import { type Server, startServer } from './server.ts';
import { startUpstreams } from './upstreams.ts';

export type Rule = 'charge' | 'release';

/** A start closes orphans within 2 s. The test allows four times as long, ms. */
const START_MS = 8_000;
/** A load that has not reached its point after this time never will, ms. */
const LOAD_MS = 30_000;
const CLIENTS = 16;
/** How many clients use the key of the previous crash, whose budget is mostly spent. */
const OLD_CLIENTS = 3;
/** The pause between two edits of the policy, ms. */
const EDIT_MS = 60;
/** The log message of a start that closes orphans. */
const ORPHANS_CLOSED = 'closed reservations that an earlier run left open';

export interface Kill extends Findings {
  readonly point: string;
  /** How many requests were sent before the crash. */
  readonly sent: number;
}

/** A data folder that survives one crash after another. */
export interface Chain {
  /**
   * Kills the process at a point under load, starts it again, and loads it again.
   * @returns everything that is wrong after that
   */
  kill(point: CrashPoint, rule: Rule): Promise<Kill>;
  stop(): Promise<void>;
}

export function startChain(random: () => number): Chain {
  const data = temporaryFolder();
  const policies = temporaryFolder();
  const upstreams = startUpstreams();
  const below = (limit: number) => Math.floor(random() * limit);
  let requests = 0;
  let edits = 0;
  /** The keys of this crash and of the previous one. */
  let keys: readonly string[] = [];
  let running: Server | null = null;

  function writePolicy({ keyCredits }: CrashPoint, rule: Rule): void {
    const extra = edits === 0 ? '' : `  - { name: extra-${edits}, limit_credits: 100000, window: total }\n`;
    const more = `budgets:
  - { name: own, each: key.id, limit_credits: ${keyCredits}, window: total }
  - { name: all, limit_credits: 1000000, window: total }
${extra}ledger: { contention_wait_ms: 100, on_crash: ${rule} }
`;
    const text = testPolicy(upstreams.urls, { best: { endpoints: ['first', 'second'] } }, more);
    writeFileSync(join(policies, 'policy.yaml'), text);
  }

  async function start(crashAt: string): Promise<Server> {
    const env = { SIGNALBOX_API_KEY: keys[0]!, CRASH_AT: crashAt, CHECKPOINT_MS: String(20 + below(80)) };
    running = await startServer({ data, policies, env: { ...UPSTREAM_ENV, ...env } });
    return running;
  }

  function load(url: string | null, perClient = Number.POSITIVE_INFINITY): Load {
    if (url === null) throw new Error('the server did not start');
    const [key = '', old = key] = keys;
    const clients = [...Array<string>(CLIENTS).fill(key), ...Array<string>(OLD_CLIENTS).fill(old)];
    return startLoad({ url, keys: clients, next: () => ++requests, requests: perClient });
  }

  /** Loads a server until it dies at the point. */
  async function dieUnderLoad(armed: Server, point: CrashPoint, rule: Rule): Promise<Load> {
    const loaded = load(armed.url);
    const editor = setInterval(() => {
      if (!point.edits) return;
      edits++;
      writePolicy(point, rule);
      const headers = { authorization: `Bearer ${keys[0]}` };
      // The request fails when the server dies.
      fetch(`${armed.url}/admin/policy/reload`, { method: 'POST', headers }).catch(() => {});
    }, EDIT_MS);
    await Promise.race([armed.exited, Bun.sleep(LOAD_MS)]);
    clearInterval(editor);
    loaded.stop();
    armed.signal('SIGKILL');
    await Promise.all([armed.exited, loaded.done]);
    return loaded;
  }

  /**
   * Starts without a crash.
   * @returns what is wrong with how the start handled the crash
   */
  async function recover(left: Journal, orphans: Journal, rule: Rule): Promise<string[]> {
    const server = await start('');
    const problems = [...recoveryProblems(left, readBeside(data), rule), ...startProblems(server, orphans, rule)];
    const known = new Set(left.reservations.keys());
    const loaded = load(server.url, 1);
    await loaded.done;
    await waitFor(() => readBeside(data).open.length === 0, LOAD_MS);
    const settled = readBeside(data);
    problems.push(...audit(loaded.sent, settled, known, upstreams).problems);
    server.signal('SIGKILL');
    await server.exited;
    return problems;
  }

  async function kill(point: CrashPoint, rule: Rule): Promise<Kill> {
    const known = existsSync(join(data, 'signalbox.db')) ? [...readCopy(data).reservations.keys()] : [];
    keys = [makeTestKey(`crash${String(++requests).padStart(7, '0')}`), ...keys.slice(0, 1)];
    writePolicy(point, rule);
    const at = `${point.name}:${1 + below(point.passages)}`;
    const armed = await start(point.phase === 'load' ? at : 'reserve-after-commit:20');
    const { sent } = await dieUnderLoad(armed, point, rule);
    const left = readCopy(data);
    const found = audit(sent, left, new Set(known), upstreams);
    const problems = [...found.problems];
    let orphans = left;
    if (point.phase === 'start') {
      const again = await start(at);
      problems.push(...(await deathProblems(again, point.name)));
      orphans = readCopy(data);
    } else problems.push(...(await deathProblems(armed, point.name)));
    problems.push(...(await recover(left, orphans, rule)));
    return { ...found, problems, point: point.name, sent: sent.length };
  }

  return {
    kill,
    async stop() {
      running?.signal('SIGKILL');
      await running?.exited;
      await upstreams.stop();
      for (const folder of [data, policies]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The process must have killed itself at the point. */
async function deathProblems(server: Server, point: string): Promise<string[]> {
  server.signal('SIGKILL');
  await server.exited;
  return server.errors().includes(`killed at ${point}\n`) ? [] : [`did not die at ${point}: ${server.errors()}`];
}

/** Checks what the start reports about orphans, and how soon. */
function startProblems(server: Server, { open }: Journal, rule: Rule): string[] {
  const line = server.lines.find((text) => text.includes(ORPHANS_CLOSED));
  if (!line) return open.length === 0 ? [] : [`the start reports none of ${open.length} orphans`];
  const held = open.reduce((sum, booked) => sum + leftOf(booked), 0) / 1_000_000;
  const told = JSON.parse(line) as Record<string, unknown>;
  const due = {
    count: open.length,
    credits_charged: rule === 'charge' ? held : 0,
    credits_released: rule === 'charge' ? 0 : held,
  };
  const problems = Object.entries(due)
    .filter(([name, value]) => told[name] !== value)
    .map(([name, value]) => `the start reports ${name} as ${told[name]}, but it is ${value}`);
  const after = server.sawAfter(ORPHANS_CLOSED) ?? Number.POSITIVE_INFINITY;
  if (after > START_MS) problems.push(`orphans were closed after ${Math.round(after)} ms`);
  return problems;
}
