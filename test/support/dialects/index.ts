import { anthropic } from './anthropic.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';

export type DialectName = 'openai' | 'anthropic' | 'gemini';

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = { openai, anthropic, gemini };
