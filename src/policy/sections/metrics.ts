import { closed, optional, text } from '../../core/define/fields.ts';
import type { MetricsPolicy } from '../../core/policy/snapshot.ts';
import { sectionSubject } from '../check/section-checks.ts';
import { defineSection, settingsOf } from '../define/section.ts';
import { placeAt } from '../yaml/tree.ts';

const MetricsText = closed('What metrics show about requests.', {
  key_label: optional(
    text(
      'Key label whose value the metrics of requests and spend have as the label `key_label`. At most 200 values are shown separately.',
      { minLength: 1, maxLength: 200, example: 'project' },
    ),
  ),
});

/** The section `metrics`. */
export const METRICS = defineSection({
  name: 'metrics',
  text: MetricsText,
  guard: 'it decides which labels of keys are shown at `/metrics`, which needs no key',
  draft(context) {
    const subject = sectionSubject('metrics', context);
    const { key_label: keyLabel = null } = settingsOf(MetricsText, subject, context);
    return { keyLabel, place: placeAt(subject.tree, 'key_label') };
  },
  *compile({ keyLabel, place }, { check }): Generator<undefined, MetricsPolicy> {
    yield;
    if (keyLabel !== null) check.metered({ label: keyLabel, place, path: '' });
    return { keyLabel };
  },
});
