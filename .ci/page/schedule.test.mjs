// Schedules as people say them.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

globalThis.document = /** @type {any} */ ({ documentElement: { lang: "en" } });
const { inWords } = await import(path.join(import.meta.dirname, "../../internal/console/app/js/schedule.js"));

const said = {
  "every 30m0s": "Every 30 minutes", "every 1h0m0s": "Every hour", "every 2h0m0s Europe/Rome, 09:00-21:00": "Every 2 hours, 09:00–21:00",
  "every 24h0m0s": "Every day", "every 1h30m0s": "every 1h30m0s", "0 8 * * *": "Every day at 08:00", "30 2 * * 1-5": "Monday to Friday at 02:30",
  "0 9 * * 0": "Every Sunday at 09:00", "0 9 15 * *": "On day 15 of each month at 09:00", "0 8 * * * Europe/Rome": "Every day at 08:00, Europe/Rome", "*/10 * * * *": "*/10 * * * *",
  "every day at 09:00": "Every day at 09:00", "every 3 days at 09:00 and 21:00": "Every 3 days at 09:00 and 21:00",
  "every week on Monday at 09:00": "Every Monday at 09:00", "every 2 weeks on Monday, Tuesday and Friday at 09:00": "Every 2 weeks on Monday, Tuesday, and Friday at 09:00",
  "every month on the 15th day at 09:00, 3 times": "On day 15 of each month at 09:00, 3 times", "every day at 09:00 until 2027-03-01": "Every day at 09:00, until 2027-03-01",
  "every year at 09:00": "every year at 09:00", "every month on the last Friday at 09:00": "every month on the last Friday at 09:00",
  "every 1 hour": "Every hour", "every 45 minutes": "Every 45 minutes", "every 1 hour 30 minutes": "every 1 hour 30 minutes",
};
for (const [schedule, want] of Object.entries(said)) test(schedule, () => assert.equal(inWords(schedule), want));
