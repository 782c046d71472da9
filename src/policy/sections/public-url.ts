import { text } from '../../core/define/fields.ts';
import { checkValue } from '../check/check.ts';
import { statedSubject } from '../check/section-checks.ts';
import { asDrafted, defineSection } from '../define/section.ts';
import { normalUrl, reportNoAddress } from '../providers/addresses.ts';

const PublicUrlText = text(
  'URL at which people and agents reach this gateway. If a proxy in front of it removes a path, include that path. Sign-in redirects to this URL, and quotes for payments name it.',
  { minLength: 1, maxLength: 256, example: 'https://llm.example.com' },
);

/** The section `public_url`, without a slash at its end; null if it is not stated or wrong. */
export const PUBLIC_URL = defineSection({
  name: 'public_url',
  text: PublicUrlText,
  guard: 'it decides where people are sent for sign-in, and which URL quotes name',
  draft({ sections, report }): string | null {
    const subject = statedSubject('public_url', sections);
    const stated = subject && checkValue(PublicUrlText, subject, report);
    if (!stated) return null;
    const url = normalUrl(stated);
    if (url === null) reportNoAddress(stated, '`public_url`', subject.tree.place, report);
    return url;
  },
  compile: asDrafted,
});
