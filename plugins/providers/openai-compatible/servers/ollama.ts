import type { Capability, ModelServerAdapter, ServedFacts, ServedModel } from 'signalbox/plugin';
import { type Json, objectOf, textOf, tokensOf } from '../../json.ts';
import { listIn, membersIn, type OperationWords, operationIn, parametersIn, stated } from './shared.ts';

/** Ollama’s words for what a model can do, and the capabilities that they mean. */
const WORDS: readonly (readonly [string, Capability])[] = [
  ['tools', 'tools'],
  ['vision', 'vision'],
  ['thinking', 'reasoning'],
];

/**
 * Reads an Ollama server: ollama/ollama docs/api.md, and answers of Ollama of 2026-08-21. `/api/tags` lists the models, `/api/ps` has the
 * context of the loaded models, `/api/show` has the settings of one model.
 */
export const ollama: ModelServerAdapter = {
  requests: [
    { path: '/api/tags', below: 'origin' },
    { path: '/api/ps', below: 'origin' },
  ],
  read([tags, ps]) {
    const list = listIn(tags, 'models');
    if (list === null) return null;
    const loaded = new Map((listIn(ps, 'models') ?? []).map((one) => [nameOf(one), tokensOf(one.context_length)]));
    const models = list.flatMap((one): ServedModel[] => {
      const upstream = nameOf(one);
      if (upstream === '') return [];
      const facts = stated<ServedModel>({
        ...factsOf(one),
        digest: DIGEST.test(textOf(one.digest)) ? textOf(one.digest) : undefined,
        contextInUse: loaded.get(upstream),
        upstream,
      });
      return [{ ...facts, upstream }];
    });
    return { models, isComplete: true };
  },
  addCommand: 'ollama pull',
  detail: {
    request: (upstream) => ({ path: '/api/show', below: 'origin', body: JSON.stringify({ model: upstream }) }),
    read(body) {
      const answer = membersIn(body);
      const info = objectOf(answer.model_info);
      const sized = (end: string) =>
        tokensOf(Object.entries(info).find(([key, value]) => key.endsWith(end) && tokensOf(value))?.[1]);
      return stated<ServedFacts>({
        ...factsOf(answer),
        contextWindow: windowIn(textOf(answer.parameters)),
        contextMax: sized('.context_length'),
        dimensions: sized('.embedding_length'),
        ...(tokensOf(info['general.parameter_count']) && { parameters: tokensOf(info['general.parameter_count']) }),
      });
    },
  },
};

const DIGEST = /^(?:sha256:)?[0-9a-f]{12,128}$/;

const nameOf = (model: Json): string => textOf(model.name) || textOf(model.model);

/** Reads the facts that lists and descriptions state in the same members. */
function factsOf({ details, capabilities, remote_host, ...one }: Json): ServedFacts {
  const words = Array.isArray(capabilities) ? new Set(capabilities) : null;
  const isRemote = textOf(remote_host) !== '' || /[:-]cloud$/.test(nameOf(one));
  return stated<ServedFacts>({
    parameters: parametersIn(objectOf(details).parameter_size),
    operation: words ? operationIn([...words], OPERATIONS) : undefined,
    capabilities: words ? capabilitiesOf(words) : undefined,
    inserts: words?.has('insert'),
    runsElsewhere: isRemote || undefined,
  });
}

const OPERATIONS: OperationWords = { chat: ['completion'], embed: ['embedding'] };

/** Ollama holds every answer to a JSON schema, except answers of models that think, which may ignore it (ollama/ollama#11691). */
function capabilitiesOf(words: ReadonlySet<unknown>): readonly Capability[] {
  const own = WORDS.flatMap(([word, capability]) => (words.has(word) ? [capability] : []));
  return words.has('completion') && !words.has('thinking') ? [...own, 'json_schema'] : own;
}

/** Reads `num_ctx` from the settings of a model, which are lines of a name and a value. */
function windowIn(settings: string): number | undefined {
  const [, figure] = /^num_ctx\s+(\d{1,9})\s*$/m.exec(settings) ?? [];
  return figure === undefined ? undefined : tokensOf(Number(figure));
}
