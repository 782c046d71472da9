import type { GuardPlugin, ProviderPlugin, StrategyPlugin } from 'signalbox/plugin';
import { jsonSchema } from './guards/json-schema.ts';
import { language } from './guards/language.ts';
import { model } from './guards/model.ts';
import { personalData } from './guards/personal-data.ts';
import { secrets } from './guards/secrets.ts';
import { lakera } from './guards/services/lakera.ts';
import { presidio } from './guards/services/presidio.ts';
import { webhook } from './guards/services/webhook.ts';
import { size } from './guards/size.ts';
import { words } from './guards/words.ts';
import { anthropic } from './providers/anthropic.ts';
import { gemini } from './providers/gemini.ts';
import { openai } from './providers/openai.ts';
import { openaiCompatible } from './providers/openai-compatible.ts';
import { simulated } from './providers/simulated.ts';
import { auto, autoCheap, autoFast } from './strategies/auto.ts';
import { weighted } from './strategies/weighted.ts';

/** The shipped plugins. Each plugin name may occur only once; the host rejects a duplicate. */
export const shipped: readonly (StrategyPlugin | ProviderPlugin | GuardPlugin)[] = [
  auto,
  autoFast,
  autoCheap,
  weighted,
  anthropic,
  gemini,
  simulated,
  openai,
  openaiCompatible,
  secrets,
  personalData,
  words,
  size,
  language,
  jsonSchema,
  model,
  presidio,
  lakera,
  webhook,
];
