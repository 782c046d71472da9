import { defineProvider } from 'signalbox/plugin';
import { chatCompletions } from './openai-compatible/dialect.ts';
import { presets } from './openai-compatible/presets.ts';
import { DialectSettings } from './openai-compatible/settings.ts';

/** Any server that implements OpenAI's chat completions: vLLM, Ollama, and most providers. */
export const openaiCompatible = defineProvider({
  contract: 2,
  name: 'openai-compatible',
  status: 'stable',
  settings: DialectSettings,
  presets,
  prepare: chatCompletions,
});
