/** Of columns of a row; of `body` by the positions that `body.ts` states. Null for a row that was edited. */
const summarySql = (stream: string, labels: string): string => `CASE WHEN json_valid(body) AND json_valid(${labels})
    AND json_type(body, '$[3]') = 'text' THEN json_array(
      time, body -> '$[1][1]', body ->> '$[1][0]', ${stream}, json(${labels}), body -> '$[8]', body ->> '$[2]', revision,
      body ->> '$[5][1]', json_array_length(body, '$[5][2]'), body ->> '$[5][2][#-1][1]', body ->> '$[5][5]', body ->> '$[5][6]',
      body ->> '$[5][7]', body ->> '$[5][8]', body ->> '$[5][3][0]', body ->> '$[5][3][3]') END`;

/** Makes the summary of a row of `records`, or of `decisions`, which has neither `stream` nor labels. */
export const SUMMARY = summarySql("ifnull(body ->> '$[7]', 0)", 'labels');
export const OLD_SUMMARY = summarySql('NULL', "'null'");
