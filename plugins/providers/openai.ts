import { defineProvider, Type } from 'signalbox/plugin';
import { chatCompletions } from './openai-compatible/dialect.ts';
import { OPENAI } from './openai-compatible/presets.ts';
import { PLAIN } from './openai-compatible/settings.ts';

/** OpenAI itself: its own dialect, with the rules of its reasoning models. */
export const openai = defineProvider({
  name: 'openai',
  status: 'stable',
  settings: Type.Object({}, { additionalProperties: false }),
  presets: {
    openai: {
      baseUrl: 'https://api.openai.com/v1',
      apiKeyEnv: 'OPENAI_API_KEY',
      passthrough: ['verbosity', 'prompt_cache_key', 'safety_identifier'],
      // developers.openai.com/api/docs/guides/prompt-caching; `prompt_cache_options` in the types of openai 7.55.0.
      cache: { ttlS: 1_800, tokensMin: 1_024 },
    },
  },
  prepare: () => chatCompletions({ ...PLAIN, ...OPENAI }),
});
