import { plural } from '../../../core/text/text.ts';
import { visible } from '../../../core/text/visible.ts';
import {
  ASK,
  block,
  commentedText,
  exact,
  type Field,
  field,
  flow,
  type PolicyValue,
  writeFile,
} from '../../../policy/yaml/emit.ts';
import {
  type CatalogProposal,
  isComplete,
  type PolicyModel,
  type ProposedModel,
  type ProposedPrice,
  type ProposedValue,
} from './propose.ts';

const GUESSED_CONTEXT = 'a low guess, because the server does not state it';

/** Writes a quality that was guessed by the size of the model. */
const qualityOf = (quality: number | null): PolicyValue =>
  quality === null ? QUALITY : flow({ default: quality, basis: 'guessed' });

/** The quality written for models whose quality is unknown. */
const QUALITY = flow({ default: 0.5 });

/**
 * Writes a proposal as a policy file. New models with complete figures become entries. Models with missing figures, and remarks about
 * models of the policy, become comments.
 */
export function patchOf(proposal: CatalogProposal): string {
  const { added, provider } = proposal;
  const complete = added.filter(isComplete);
  const open = added.filter((one) => !isComplete(one));
  const entries = complete.map((one, at) => field(one.id, entryOf(one, provider), { isApart: at > 0 }));
  const models = entries.length > 0 ? field('models', block(...entries), { isApart: true }) : null;
  const { text } = writeFile('', headOf(proposal, complete.length, open), models);
  const questions = open.map((one) => `\n${commentedText(2, field(one.id, entryOf(one, provider)))}`);
  const heading = models === null && questions.length > 0 ? '\n# models:' : '';
  return [text, heading, ...questions].join('');
}

/** Writes the comments at the top of the file: the decisions to make, first the open questions. */
function headOf(
  { provider, today, factsSource, added, gone, repriced, unfit, known }: CatalogProposal,
  complete: number,
  open: readonly ProposedModel[],
): string[] {
  const asked = Object.entries(QUESTIONS).flatMap(([key, figure]) => {
    const models = open.filter((one) => one[figure] === null);
    return models.length === 0 ? [] : [`- ${key}: ${models.map(({ id }) => id).join(', ')}`];
  });
  const reasons = Map.groupBy(unfit, ([, why]) => why);
  return [
    `Models of ${provider} on ${today}: ${plural(known, 'model')} of its list in the policy, ${complete} to add, ${open.length} with questions.`,
    'This file is not active. Review it, then save what you want in the policy folder.',
    ...section('QUESTIONS. The entries below that are comments still need:', asked),
    ...section('Models whose listed price differs from the policy, USD per 1M tokens:', repriced.map(repricedText)),
    ...section(`No longer listed by ${provider}, so requests for these models may fail:`, gone.map(goneText)),
    ...section(
      'Left out:',
      [...reasons].map(([why, ones]) => `- ${visible(why)}: ${ones.map(([id]) => visible(id)).join(', ')}`),
    ),
    ...(added.length > 0
      ? [
          '',
          `Figures come from the list, or else from ${factsSource}. Quality is a guess: adjust it to your own results.`,
        ]
      : []),
  ];
}

/** The figures that every model needs, by their keys in a policy. */
const QUESTIONS = { price: 'price', context_window: 'contextWindow', max_output: 'maxOutput' } as const;

const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', heading, ...lines];

const repricedText = ({ id, place, usd, price }: PolicyModel & { readonly price: ProposedPrice }): string =>
  `- ${id} (${place}): input ${usd.input}, now ${price.input}; output ${usd.output}, now ${price.output}`;

const goneText = ({ id, place }: PolicyModel): string => `- ${id} (${place})`;

function entryOf({ id, upstream, ...model }: ProposedModel, provider: string) {
  const { price, contextWindow, isContextGuessed, maxOutput, capabilities, temperature, released, quality, own } =
    model;
  return block(
    field('provider', provider),
    id === upstream ? null : field('upstream', upstream),
    field('price', price ? priceOf(price) : flow({ input: ASK, output: ASK })),
    field('context_window', contextWindow ?? ASK, isContextGuessed ? { beside: GUESSED_CONTEXT } : {}),
    field('max_output', maxOutput ?? ASK),
    capabilities === null
      ? field('capabilities', [], { beside: 'unknown: none assumed' })
      : field('capabilities', capabilities),
    temperature ? null : field('temperature', false),
    own && field('languages', own.languages),
    own && field('reasoning_tokens', flow(own.reasoning_tokens)),
    own && field('latency', flow(own.latency)),
    field('quality', own ? flow(own.quality) : qualityOf(quality)),
    released === null ? null : field('released', exact(released)),
  );
}

/** A figure or a day, which a policy has without quotes. */
const EXACT = /^\d+(?:\.\d+)?$|^\d{4}-\d{2}-\d{2}$/;

function priceOf(price: ProposedPrice): PolicyValue {
  const fields = Object.entries(price).map(([key, value]): Field => ({ key, value: figureOf(value) }));
  return { ...block(...fields), isFlow: Object.values(price).every((value) => typeof value === 'string') };
}

function figureOf(value: ProposedValue): PolicyValue {
  if (typeof value === 'string') return EXACT.test(value) ? exact(value) : value;
  if (isList(value)) return value.map(figureOf);
  return flow(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, figureOf(one)])));
}

const isList = (value: ProposedValue): value is readonly ProposedValue[] => Array.isArray(value);
