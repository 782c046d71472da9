import * as field from '../../api/parts.ts';
import { keptText } from './keys.ts';

/** The body of `POST /admin/subjects/{id}/block`. */
export const SubjectBlockRequest = field.partialBody('Why.', {
  note: keptText('A note, stored with it.', 'leaked token, ticket 88'),
});

export const Subject = field.named('Subject', 'A workload that sends tokens of an issuer in place of a key.', {
  object: field.always('subject'),
  id: field.text('Names it in usage, decisions and logs.', 'subject_5d0c4f1ab2e39487c6d10f3b8a7e2946'),
  name: field.text('The name of its issuer in the policy.', 'github'),
  issuer: field.text('`iss` of its tokens.', 'https://token.actions.githubusercontent.com'),
  sub: field.text('`sub` of its tokens.', 'repo:acme/app:ref:refs/heads/main'),
  first_seen_at: field.moment('When its first token was checked.'),
  last_seen_at: field.moment('When its last token was checked. A token is checked once.'),
  is_blocked: field.flag('Whether its tokens are refused.', false),
});

export const SubjectList = field.named('SubjectList', 'Subjects.', {
  ...field.listOf(Subject, 'The newest first.'),
  has_more: field.flag('Whether there are older ones. To get them, repeat the request with `before`.', false),
});
