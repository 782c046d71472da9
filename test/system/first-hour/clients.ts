import { agents } from './drives/agents.ts';
import { aiSdk } from './drives/ai-sdk.ts';
import { anthropic } from './drives/anthropic.ts';
import { langchain } from './drives/langchain.ts';
import { openai } from './drives/openai.ts';
import type { Drive, Load } from './modes.ts';

/** A client in a major version. */
export interface Client {
  readonly name: string;
  /** The client's drives, by dialect. */
  readonly drives: (load: Load) => Promise<Readonly<Record<string, Drive>>>;
  /** The packages to install with npm; absent if the clone has them. */
  readonly packages?: readonly string[];
}

export const CLIENTS: readonly Client[] = [
  {
    name: 'AI SDK 5',
    drives: aiSdk,
    packages: [
      'ai@5.0.277',
      '@ai-sdk/anthropic@2.0.112',
      '@ai-sdk/openai@2.0.131',
      '@ai-sdk/openai-compatible@1.0.61',
      'zod@4.6.7',
    ],
  },
  {
    name: 'AI SDK 6',
    drives: aiSdk,
    packages: [
      'ai@6.0.326',
      '@ai-sdk/anthropic@3.0.140',
      '@ai-sdk/openai@3.0.141',
      '@ai-sdk/openai-compatible@2.0.92',
      'zod@4.6.7',
    ],
  },
  { name: 'AI SDK 7', drives: aiSdk },
  { name: 'openai 4', drives: openai, packages: ['openai@4.104.0', 'zod@3.25.76'] },
  { name: 'openai 5', drives: openai, packages: ['openai@5.23.2', 'zod@3.25.76'] },
  { name: 'openai 6', drives: openai, packages: ['openai@6.49.0', 'zod@4.6.7'] },
  { name: 'openai 7', drives: openai },
  { name: '@anthropic-ai/sdk 0.137', drives: anthropic, packages: ['@anthropic-ai/sdk@0.137.0', 'zod@4.6.7'] },
  { name: '@anthropic-ai/sdk 1', drives: anthropic },
  {
    name: 'LangChain 0.3',
    drives: langchain,
    packages: ['@langchain/core@0.3.80', '@langchain/openai@0.6.17', '@langchain/anthropic@0.3.34', 'zod@3.25.76'],
  },
  { name: 'LangChain 1', drives: langchain },
  { name: 'OpenAI Agents SDK 0.20', drives: agents },
];
