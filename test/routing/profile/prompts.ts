import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { capabilityNames, OF_EVERY_DIALECT } from '../../../src/core/request/capability.ts';
import type { ChatBody as ProfileInput } from '../../support/chat-body.ts';
import { profile } from '../../support/chat-body.ts';

/** A request as users send it, with the labels of a careful reader. */
export interface LabelledPrompt {
  readonly id: string;
  /** The language of the last question as ISO 639-1; `und` if it has no words. */
  readonly language: string;
  readonly task: string;
  /** Programming languages, in ascending order. */
  readonly languages: readonly string[];
  readonly needs: readonly string[];
  readonly request: ProfileInput;
}

const fileOf = (name: string): string => join(import.meta.dir, '..', 'prompts', `${name}.jsonl`);

export const bytesOf = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(fileOf(name)));

export const promptsOf = (name: string): LabelledPrompt[] =>
  readFileSync(fileOf(name), 'utf8')
    .trim()
    .split('\n')
    .map((line): LabelledPrompt => JSON.parse(line));

const HITS = ['task', 'naturalLanguage', 'languages', 'needs'] as const;

export interface Score {
  /** The share of prompts that are read correctly, 0..1. */
  readonly shares: Readonly<Record<(typeof HITS)[number], number>>;
  /** The confusions, with one line per pair of tasks, most frequent first. */
  readonly confusions: readonly string[];
  /** For each task, the number of correctly read prompts and of all prompts. */
  readonly byTask: Readonly<Record<string, string>>;
}

/** Scores the reading of a set of prompts. */
export function scoreOf(prompts: readonly LabelledPrompt[]): Score {
  const counts = { task: 0, naturalLanguage: 0, languages: 0, needs: 0 };
  const confused = new Map<string, string[]>();
  const tasks = new Map<string, { right: number; all: number }>();
  for (const { id, language, task, languages, needs, request } of prompts) {
    const read = profile(request);
    const isRight = read.task === task;
    const ofTask = tasks.get(task) ?? { right: 0, all: 0 };
    tasks.set(task, { right: ofTask.right + (isRight ? 1 : 0), all: ofTask.all + 1 });
    if (isRight) counts.task++;
    else
      confused.set(`${task} → ${read.task}`, [...(confused.get(`${task} → ${read.task}`) ?? []), `${id}:${language}`]);
    if (read.naturalLanguage === language) counts.naturalLanguage++;
    if (read.languagesSeen.join() === languages.join()) counts.languages++;
    if (
      capabilityNames(read.needs & ~OF_EVERY_DIALECT)
        .sort()
        .join() === needs.join()
    )
      counts.needs++;
  }
  const share = (hit: (typeof HITS)[number]) => counts[hit] / prompts.length;
  return {
    shares: {
      task: share('task'),
      naturalLanguage: share('naturalLanguage'),
      languages: share('languages'),
      needs: share('needs'),
    },
    confusions: [...confused]
      .sort(([, a], [, b]) => b.length - a.length)
      .map(([pair, ids]) => `${pair}: ${ids.length} (${ids.join(' ')})`),
    byTask: Object.fromEntries([...tasks].map(([task, { right, all }]) => [task, `${right}/${all}`])),
  };
}

export const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content });
export const system = (content: string): ChatMessage => ({ role: 'system', content });
export const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
export const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
