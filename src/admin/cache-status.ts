import { modelId } from '../core/decision/shared-fields.ts';
import * as f from '../core/define/fields.ts';
import { CACHE_PARTITIONS, CACHE_SKIPS } from '../core/policy/cache.ts';
import { COUNTED_PERIOD } from './counted-period.ts';

const counts = {
  hits: f.count('Requests that the cache answered.', 310),
  partial: f.count('Requests for embeddings of which the cache had some inputs.', 4),
  misses: f.count('Requests that a model answered although the cache applies.', 420),
  hit_share: f.inCommand(
    f.orNull(f.share('The share of hits in the requests that the cache applies to; null if there are none.', 0.422)),
    { text: (share: number) => `${(100 * share).toFixed(1)} %` },
  ),
  saved_credits: f.as(
    'saved',
    f.credits(
      'The price of the answers that the cache repeated, minus the price of the hits; negative if hits cost more.',
      61.75,
    ),
  ),
  saved_usd: f.as('saved', f.usd('The same as `saved_credits`.', '0.06175')),
};

/** How the active policy uses its cache. */
const Settings = f.shape('The section `cache` of the active policy.', {
  partition: f.word(CACHE_PARTITIONS, 'Who shares answers.', 'key'),
  ttl_seconds: f.count('How many seconds an answer is used again.', 3_600),
  bytes_max: f.count('About how many bytes all stored answers may take on disk.', 268_435_456),
  price_credits: f.as('price', f.credits('The price of a hit.', 0)),
  is_conditional: f.flag('Whether it has a `when`, so that it applies only to some requests.', false),
  sampled: f.flag('Whether it also applies to requests without `temperature: 0` or a `seed`.', false),
});

const Stored = f.shape('The answers in the cache.', {
  answers: f.count('How many answers are stored. Each input of a request for embeddings is an answer.', 512),
  bytes: f.count('About how many bytes they take on disk.', 1_843_200),
  oldest_at: f.orNull(f.moment('When the answer that expires first was stored; null if there is none.')),
});

export const CacheStatus = f.named(
  'CacheStatus',
  'What the cache did in the requests of a period, and what it stores.',
  {
    object: f.always('cache.status'),
    ...COUNTED_PERIOD,
    settings: f.orNull(Settings, 'Null if the active policy has no cache, and if it is not known.'),
    stored: f.orNull(
      Stored,
      'Null if the caller may not see the figures of all keys, and if a command runs without a server.',
    ),
    requests: f.count(
      'Requests that were counted, also refused requests and requests that the cache does not apply to.',
      1_204,
    ),
    ...counts,
    charged_credits: f.as('charged', f.credits('The price of the hits.', 0)),
    charged_usd: f.as('charged', f.usd('The same as `charged_credits`.', '0')),
    skipped: f.list(
      f.shape('A reason.', {
        reason: f.word(
          CACHE_SKIPS,
          '`sampled`: neither `temperature: 0` nor a `seed`. `condition`: `when` is false. `unrepeatable`: for example, tools that a provider runs. `no_store`: the header `cache-control`. `wallet`: a wallet pays. `playground`: a request from the playground. `no_team`: the key has no team.',
          'sampled',
        ),
        requests: f.count('How many requests.', 470),
      }),
      'Why the cache did not apply to requests, the most frequent reason first.',
    ),
    data: f.list(
      f.shape('The figures of a model or of a key.', {
        by: f.word(['model', 'key'], 'Whose figures these are.'),
        model: f.orNull(modelId('The model that answered, now or before; null for the figures of a key.')),
        key_id: f.as(
          'key',
          f.orNull(
            f.text(
              'The ID of the key; null for the figures of a model, and with a key with the scope `report`.',
              'k7mw2pq9x4ta',
            ),
          ),
        ),
        key_name: f.orNull(f.text('The name of the key.', 'search')),
        ...counts,
      }),
      'The models and the keys with the most requests that the cache applies to, at most 50 of each.',
    ),
  },
);
