import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { effort } from '../../deep/effort.ts';
import { readPage, total } from '../../support/prometheus.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { AGENTS, type Agent } from './agents/agents.ts';
import { AFTER, ANSWERS, answerAgent, PROMPTS } from './agents/script.ts';
import {
  AgentSetup,
  endProcesses,
  type InstalledAgent,
  installedAgent,
  installedNode,
  pathOf,
} from './agents/stage.ts';
import { type Doubles, type Served, withDoubles } from './stage.ts';

/**
 * `npm run test:deep -- first-hour`: the coding agents at the versions that npm installs, with Node 20 and 22, each set up as its page
 * says. Fake services make each agent answer, edit a file with its own tool and continue its session. A second server has no provider: its
 * simulated models answer each agent once.
 */
const NODES = [20, 22] as const;
const PATIENCE = 900_000;
const { proved } = effort('first-hour', AGENTS.length, AGENTS.length);
const cases = NODES.flatMap((node) => AGENTS.map((agent) => [agent.name, node, agent] as const));

const folders: string[] = [];
const agents: InstalledAgent[] = [];
const paths = new Map<number, string>();
const table: string[] = [];
const notes = new Set<string>();
let doubles: Doubles;
let served: Served;
let simulated: Signalbox;
/** The folder of the running agent. */
let folder = '';

const kept = (name: string): string => {
  folders.push(name);
  return name;
};

beforeAll(async () => {
  doubles = withDoubles(join(import.meta.dir, '../../../policies'));
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY } = doubles.env;
  for (const vendor of ['openai', 'anthropic']) doubles.of(vendor).behave((request) => answerAgent(request, folder));
  served = await startSignalbox({
    env: { OPENAI_API_KEY: OPENAI_API_KEY!, ANTHROPIC_API_KEY: ANTHROPIC_API_KEY! },
    args: ['--policies', doubles.policies],
  });
  simulated = await startSignalbox();
  for (const node of NODES) paths.set(node, pathOf(kept(await installedNode(node))));
}, PATIENCE);
afterAll(async () => {
  for (const agent of agents) await endProcesses(agent);
  await served?.stop();
  await simulated?.stop();
  await doubles?.stop();
  for (const one of folders) rmSync(one, { recursive: true, force: true });
}, PATIENCE);

/** Sets up an agent in a new home folder. */
async function setUp(agent: Agent, installed: InstalledAgent, path: string, box: Served = served): Promise<AgentSetup> {
  const setup = new AgentSetup(agent, installed, path, box, kept(temporaryFolder()));
  for (const command of setup.commands) await setup.run(command);
  folder = setup.folder;
  return setup;
}

/** Returns how many chats the simulated models have answered. */
const simulatedChats = async (): Promise<number> =>
  total(readPage(await (await simulated.get('/metrics')).text()), 'signalbox_chats_total') ?? 0;

test.each(cases)(
  '%s with Node %p answers, edits a file with its own tool, keeps a session of three turns, and ends after one or two requests to simulated models',
  async (_, node, agent) => {
    const path = paths.get(node)!;
    const installed = await installedAgent(agent, path);
    agents.push(installed);
    kept(installed.folder);
    if (installed.nameFails) notes.add(`npm could not install \`${installed.package}\`: \`${installed.nameFails}\`.`);

    const one = await setUp(agent, installed, path);
    expect(await one.run(agent.run(PROMPTS.answer))).toContain(ANSWERS.answer);

    const two = await setUp(agent, installed, path);
    expect(await two.run(agent.run(PROMPTS.edit))).toContain(ANSWERS.edit);
    expect(two.file).toBe(AFTER);

    const three = await setUp(agent, installed, path);
    for (const [at, prompt] of PROMPTS.turns.entries()) {
      const answer = ANSWERS.turns[at]!;
      expect(await (at === 0 ? three.run(agent.run(prompt)) : three.resume(prompt, answer))).toContain(answer);
    }

    const four = await setUp(agent, installed, path, simulated);
    const before = await simulatedChats();
    expect(await four.run(agent.run(PROMPTS.hello))).toContain('This is a simulated answer');
    expect((await simulatedChats()) - before).toBeOneOf([1, 2]);
    table.push(`| ${agent.name} | \`${installed.package}\` | ${installed.version} | ${node} |`);
  },
  PATIENCE,
);

test('every agent ran with every Node', () => {
  expect(table).toHaveLength(cases.length);
  const text = `Coding agents that answered in a line, edited a file with their own tool, kept a session of three turns, and ended after one or two requests to simulated models.

| agent | package | version | Node |
| --- | --- | --- | ---: |
${table.join('\n')}${[...notes].map((note) => `\n\n${note}`).join('')}`;
  console.log(text);
  proved(`${AGENTS.length} coding agents at the versions that npm installs, with Node ${NODES.join(' and ')}`, text);
});
