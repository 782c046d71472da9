import { Type } from '@sinclair/typebox';
import * as schemas from '../schemas/trail.ts';
import { ERASE_REQUESTS } from './request-examples.ts';
import { BODY_ERRORS, routeDocs } from './route-docs.ts';

/** The documentation of `/admin/trail`. */

export const LIST = routeDocs({
  access: 'trail.read',
  summary: 'List changes',
  description:
    'Lists who changed what, when, from where, and how, by command or by request. For the next page send `before` with the last ID of this one.',
  answer: { schema: schemas.KeyTrail, description: 'Newest first.' },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range'],
});

export const VERIFY = routeDocs({
  access: 'trail.read',
  summary: 'Verify the trail',
  description:
    'Reads every entry, and says where one was changed, removed, added or moved. Only heads that were noted elsewhere show that nothing was cut from the end, or computed anew. A server verifies for one request at a time: until that is done, another request of the same user or key gets 429, and a request of anyone else 503.',
  answer: { schema: schemas.TrailReport, description: 'The report.' },
  errorField: 'against',
  errors: ['invalid_value'],
});

export const EXPORT = routeDocs({
  access: 'trail.read',
  summary: 'Export the trail',
  description:
    'JSON lines, oldest first: each entry with all that its hash is made of, and at the end the head of the whole trail. An export that lacks the head was cut: the server disconnects a client that reads nothing for a minute. A user or key can run 4 exports at once, and a server 16.',
  answer: {
    schema: Type.String(),
    mediaType: 'application/x-ndjson',
    description: 'The lines.',
    example:
      '{"id":12,"time":"2026-11-20T09:30:00.000Z","action":"grant","hash":"…"}\n{"head":true,"id":12,"hash":"…","noted_at":"2026-11-21T00:00:00.000Z"}\n',
  },
  errorField: 'from',
  errors: ['invalid_value'],
});

export const ERASE = routeDocs({
  access: 'trail.erase',
  summary: 'Erase personal words',
  description:
    'Erases the name of an actor and where it was in all its changes, or the names, notes and labels in the changes of a subject. The chain stays whole, and an entry says which words were erased. It cannot be undone. Of people, only owners may do it.',
  answer: { schema: schemas.TrailErasure, description: 'Done.' },
  requests: ERASE_REQUESTS,
  errorField: 'actor_name',
  errors: [...BODY_ERRORS, 'unknown_field', 'not_found'],
});
