import { Type } from '@sinclair/typebox';
import { count, named, text, textList } from '../../core/define/fields.ts';
import type { Operation } from '../../core/kinds/operations.ts';
import { invalid } from '../refusals.ts';
import type { ListedModel, ListPage, ListRoute } from '../surface.ts';

const Model = named('GeminiModel', 'A model, a selector or an alias, in Google’s form.', {
  name: text('The ID, after `models/`.', 'models/auto'),
  baseModelId: text('The ID. For an alias, it is the name that the alias stands for.', 'auto'),
  version: text('When the model was released; empty for a selector.', '2026-10-26'),
  displayName: text('The ID.', 'auto'),
  inputTokenLimit: Type.Optional(count('The tokens of the context window; missing if unknown.', 400_000)),
  outputTokenLimit: Type.Optional(count('The maximum output tokens; missing if unknown.', 128_000)),
  supportedGenerationMethods: textList('The methods that accept the model.', ['generateContent', 'countTokens']),
});

const METHODS: Readonly<Partial<Record<Operation, readonly string[]>>> = {
  chat: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embed: ['embedContent', 'batchEmbedContents'],
};

/** `GET /v1beta/models`, and `GET /v1/models` for a client of this API. */
export const listGeminiModels: ListRoute = {
  kind: 'list',
  method: 'GET',
  path: '/v1beta/models',
  isShared: false,
  docs: {
    list: {
      summary: 'List models in Google’s form',
      description:
        'Selectors come first, then the models that the key may use. `pageSize` and `pageToken` choose a page. `GET /v1/models` answers in this form if a request has `x-goog-api-key` and no `Authorization`.',
      query: Type.Object(
        {
          pageSize: Type.Optional(
            Type.Any({
              type: 'integer',
              minimum: 0,
              maximum: 999_999_999,
              description: 'How many models a page contains, at most 1,000. Default: all.',
            }),
          ),
          pageToken: Type.Optional(Type.String({ description: '`nextPageToken` of the page before.' })),
        },
        { additionalProperties: true },
      ),
      schema: named('GeminiModelList', 'The models.', {
        models: Type.Array(Model),
        nextPageToken: Type.Optional(
          text('The value of `pageToken` for the next page; missing on the last page.', 'sim-small'),
        ),
      }),
    },
    model: {
      summary: 'Get a model in Google’s form',
      description: 'Returns one model, selector or alias by its ID, which can contain slashes.',
      schema: Model,
    },
  },
  page: pageIn,
  list: (models, hasMore) => ({
    models: models.map(modelBody),
    ...(hasMore && { nextPageToken: models.at(-1)?.id }),
  }),
  model: modelBody,
};

/** Google returns at most so many models at once. */
const PAGE_MAX = 1_000;

function pageIn(query: URLSearchParams): ListPage | null {
  const [size, after] = [query.get('pageSize'), query.get('pageToken')];
  if (!size && !after) return null;
  if (size && !/^\d{1,9}$/.test(size)) throw invalid('pageSize', '`pageSize` must be a whole number.');
  // 0 means Google's own default.
  return { limit: Math.min(Number(size) || PAGE_MAX, PAGE_MAX), after: after || null, before: null };
}

function modelBody({ id, shownAs, created, inputTokensMax, outputTokensMax, operations }: ListedModel): object {
  return {
    name: `models/${id}`,
    baseModelId: shownAs,
    version: created === 0 ? '' : new Date(created * 1_000).toISOString().slice(0, 10),
    displayName: id,
    ...(inputTokensMax !== null && { inputTokenLimit: inputTokensMax }),
    ...(outputTokensMax !== null && { outputTokenLimit: outputTokensMax }),
    supportedGenerationMethods: operations.flatMap((operation) => METHODS[operation] ?? []),
  };
}
