import type { ModelServerAdapter, ServedModel } from 'signalbox/plugin';
import { modelList } from '../model-list.ts';
import type { DialectSettings } from '../settings.ts';
import { llamaCpp } from './llama-cpp.ts';
import { lmStudio } from './lm-studio.ts';
import { ollama } from './ollama.ts';
import { answerIn, OPENAI_LIST, stated } from './shared.ts';
import { vllm } from './vllm.ts';

/** Reads any server with a list in OpenAI’s form. Many of these servers answer requests for any name, so no list is complete. */
const openai: ModelServerAdapter = {
  requests: [OPENAI_LIST],
  read([body]) {
    const list = answerIn(body) === undefined ? null : modelList.read(body!);
    if (!list) return null;
    const models = list.models.flatMap(({ id: upstream, contextWindow, capabilities, unfit }): ServedModel[] =>
      unfit === undefined ? [{ ...stated<ServedModel>({ upstream, contextWindow, capabilities }), upstream }] : [],
    );
    return { models, isComplete: false };
  },
};

/** Returns the reader for the kind of a server; undefined if the kind is unknown. */
export const serverOf = ({ server }: Pick<DialectSettings, 'server'>): ModelServerAdapter | undefined =>
  server === 'unknown' ? undefined : { ollama, llama_cpp: llamaCpp, lm_studio: lmStudio, vllm, openai }[server];
