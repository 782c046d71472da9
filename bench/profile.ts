import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { profile } from '../test/support/chat-body.ts';
import { table } from './stats.ts';

/**
 * Measures how well tasks are recognized on labelled public prompts, which are not in this repository. `--data` is a folder of `*.jsonl.gz`
 * files, in which each line is `{ source, prompt, category? }`. Only sources with a known task count.
 *
 *   bun bench/profile.ts --data FOLDER [--file NAME]
 */
interface Row {
  readonly source: string;
  readonly prompt: string;
  readonly category?: string;
}

/** The true task by category, or by source if there is no category. A question with four options belongs to none of these tasks. */
const TRUTH: Readonly<Record<string, string>> = {
  'mmlu-pro/math': 'math',
  'llmrouter-mix/gsm8k': 'math',
  'llmrouter-mix/agentverse-mgsm': 'math',
  'llmrouter-mix/mbpp': 'coding',
  'llmrouter-mix/human_eval': 'coding',
  'llmrouter-mix/natural_qa': 'general',
  'llmrouter-mix/trivia_qa': 'general',
  'llmrouter-mix/agentverse-logicgrid': 'reasoning',
  'routellm-gsm8k/math': 'math',
  'zeroeval-gsm/math': 'math',
  'routellm-mmlu/elementary_mathematics': 'math',
  'routellm-mmlu/college_mathematics': 'math',
};

const { values } = parseArgs({ options: { data: { type: 'string' }, file: { type: 'string' } } });
if (!values.data) throw new Error('Which prompts? bun bench/profile.ts --data FOLDER');

const seen = new Map<string, { all: number; tasks: Map<string, number> }>();
for (const name of readdirSync(values.data)) {
  if (!name.endsWith('.jsonl.gz') || (values.file && !name.startsWith(values.file))) continue;
  const text = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(join(values.data, name)).bytes()));
  for (const line of text.trim().split('\n')) {
    const { source, prompt, category }: Row = JSON.parse(line);
    const key = `${source}/${category ?? ''}`;
    if (!(key in TRUTH)) continue;
    const { task } = profile({ messages: [{ role: 'user', content: prompt }] });
    const sum = seen.get(key) ?? { all: 0, tasks: new Map<string, number>() };
    sum.all++;
    sum.tasks.set(task, (sum.tasks.get(task) ?? 0) + 1);
    seen.set(key, sum);
  }
}

const rows = [...seen].map(([key, { all, tasks }]) => {
  const truth = TRUTH[key]!;
  const wrong = [...tasks].filter(([task]) => task !== truth).sort(([, a], [, b]) => b - a);
  const share = ((tasks.get(truth) ?? 0) / all).toFixed(3);
  return [key, truth, String(all), share, wrong.map(([task, count]) => `${task} ${count}`).join(', ')];
});
console.log(table([['source', 'task', 'prompts', 'right', 'taken for'], ...rows]));
