-- The 43 queries of ClickBench, in its order, adapted to a smaller and generated table. More columns break ties, so
-- that the answer is the same over every format. HAVING asks for fewer rows, and OFFSET skips fewer. The user of
-- hits-20 and the page of hits-41 and hits-42 do not depend on the seed.

SELECT count(*) FROM hits;

SELECT count(*) FROM hits WHERE "AdvEngineID" <> 0;

SELECT sum("AdvEngineID"), count(*), avg("ResolutionWidth") FROM hits;

SELECT avg("UserID") FROM hits;

SELECT count(DISTINCT "UserID") FROM hits;

SELECT count(DISTINCT "SearchPhrase") FROM hits;

SELECT min("EventDate"), max("EventDate") FROM hits;

SELECT "AdvEngineID", count(*) AS views FROM hits
WHERE "AdvEngineID" <> 0
GROUP BY "AdvEngineID" ORDER BY views DESC;

SELECT "RegionID", count(DISTINCT "UserID") AS users FROM hits
GROUP BY "RegionID" ORDER BY users DESC, "RegionID" LIMIT 10;

SELECT "RegionID", sum("AdvEngineID"), count(*) AS views, avg("ResolutionWidth"), count(DISTINCT "UserID") FROM hits
GROUP BY "RegionID" ORDER BY views DESC, "RegionID" LIMIT 10;

SELECT "MobilePhoneModel", count(DISTINCT "UserID") AS users FROM hits
WHERE "MobilePhoneModel" <> ''
GROUP BY "MobilePhoneModel" ORDER BY users DESC, "MobilePhoneModel" LIMIT 10;

SELECT "MobilePhone", "MobilePhoneModel", count(DISTINCT "UserID") AS users FROM hits
WHERE "MobilePhoneModel" <> ''
GROUP BY "MobilePhone", "MobilePhoneModel" ORDER BY users DESC, "MobilePhone", "MobilePhoneModel" LIMIT 10;

SELECT "SearchPhrase", count(*) AS views FROM hits
WHERE "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY views DESC, "SearchPhrase" LIMIT 10;

SELECT "SearchPhrase", count(DISTINCT "UserID") AS users FROM hits
WHERE "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY users DESC, "SearchPhrase" LIMIT 10;

SELECT "SearchEngineID", "SearchPhrase", count(*) AS views FROM hits
WHERE "SearchPhrase" <> ''
GROUP BY "SearchEngineID", "SearchPhrase" ORDER BY views DESC, "SearchEngineID", "SearchPhrase" LIMIT 10;

SELECT "UserID", count(*) AS views FROM hits
GROUP BY "UserID" ORDER BY views DESC, "UserID" LIMIT 10;

SELECT "UserID", "SearchPhrase", count(*) AS views FROM hits
GROUP BY "UserID", "SearchPhrase" ORDER BY views DESC, "UserID", "SearchPhrase" LIMIT 10;

SELECT "UserID", "SearchPhrase", count(*) FROM hits
GROUP BY "UserID", "SearchPhrase" LIMIT 10;

SELECT "UserID", extract(minute FROM "EventTime") AS m, "SearchPhrase", count(*) AS views FROM hits
GROUP BY "UserID", m, "SearchPhrase" ORDER BY views DESC, "UserID", m, "SearchPhrase" LIMIT 10;

SELECT "UserID" FROM hits WHERE "UserID" = 2166052499522740388;

SELECT count(*) FROM hits WHERE "URL" LIKE '%google%';

SELECT "SearchPhrase", min("URL"), count(*) AS views FROM hits
WHERE "URL" LIKE '%google%' AND "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY views DESC, "SearchPhrase" LIMIT 10;

SELECT "SearchPhrase", min("URL"), min("Title"), count(*) AS views, count(DISTINCT "UserID") FROM hits
WHERE "Title" LIKE '%Google%' AND "URL" NOT LIKE '%.google.%' AND "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY views DESC, "SearchPhrase" LIMIT 10;

SELECT * FROM hits WHERE "URL" LIKE '%google%'
ORDER BY "EventTime", "WatchID" LIMIT 10;

SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> ''
ORDER BY "EventTime", "WatchID" LIMIT 10;

SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> ''
ORDER BY "SearchPhrase" LIMIT 10;

SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> ''
ORDER BY "EventTime", "SearchPhrase" LIMIT 10;

SELECT "CounterID", avg(length("URL")) AS characters, count(*) AS views FROM hits
WHERE "URL" <> ''
GROUP BY "CounterID" HAVING count(*) > 2000 ORDER BY characters DESC, "CounterID" LIMIT 25;

SELECT regexp_replace("Referer", '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS host,
    avg(length("Referer")) AS characters, count(*) AS views, min("Referer") FROM hits
WHERE "Referer" <> ''
GROUP BY host HAVING count(*) > 2000 ORDER BY characters DESC, host LIMIT 25;

SELECT
    sum("ResolutionWidth"), sum("ResolutionWidth" + 1), sum("ResolutionWidth" + 2),
    sum("ResolutionWidth" + 3), sum("ResolutionWidth" + 4), sum("ResolutionWidth" + 5),
    sum("ResolutionWidth" + 6), sum("ResolutionWidth" + 7), sum("ResolutionWidth" + 8),
    sum("ResolutionWidth" + 9), sum("ResolutionWidth" + 10), sum("ResolutionWidth" + 11),
    sum("ResolutionWidth" + 12), sum("ResolutionWidth" + 13), sum("ResolutionWidth" + 14),
    sum("ResolutionWidth" + 15), sum("ResolutionWidth" + 16), sum("ResolutionWidth" + 17),
    sum("ResolutionWidth" + 18), sum("ResolutionWidth" + 19), sum("ResolutionWidth" + 20),
    sum("ResolutionWidth" + 21), sum("ResolutionWidth" + 22), sum("ResolutionWidth" + 23),
    sum("ResolutionWidth" + 24), sum("ResolutionWidth" + 25), sum("ResolutionWidth" + 26),
    sum("ResolutionWidth" + 27), sum("ResolutionWidth" + 28), sum("ResolutionWidth" + 29),
    sum("ResolutionWidth" + 30), sum("ResolutionWidth" + 31), sum("ResolutionWidth" + 32),
    sum("ResolutionWidth" + 33), sum("ResolutionWidth" + 34), sum("ResolutionWidth" + 35),
    sum("ResolutionWidth" + 36), sum("ResolutionWidth" + 37), sum("ResolutionWidth" + 38),
    sum("ResolutionWidth" + 39), sum("ResolutionWidth" + 40), sum("ResolutionWidth" + 41),
    sum("ResolutionWidth" + 42), sum("ResolutionWidth" + 43), sum("ResolutionWidth" + 44),
    sum("ResolutionWidth" + 45), sum("ResolutionWidth" + 46), sum("ResolutionWidth" + 47),
    sum("ResolutionWidth" + 48), sum("ResolutionWidth" + 49), sum("ResolutionWidth" + 50),
    sum("ResolutionWidth" + 51), sum("ResolutionWidth" + 52), sum("ResolutionWidth" + 53),
    sum("ResolutionWidth" + 54), sum("ResolutionWidth" + 55), sum("ResolutionWidth" + 56),
    sum("ResolutionWidth" + 57), sum("ResolutionWidth" + 58), sum("ResolutionWidth" + 59),
    sum("ResolutionWidth" + 60), sum("ResolutionWidth" + 61), sum("ResolutionWidth" + 62),
    sum("ResolutionWidth" + 63), sum("ResolutionWidth" + 64), sum("ResolutionWidth" + 65),
    sum("ResolutionWidth" + 66), sum("ResolutionWidth" + 67), sum("ResolutionWidth" + 68),
    sum("ResolutionWidth" + 69), sum("ResolutionWidth" + 70), sum("ResolutionWidth" + 71),
    sum("ResolutionWidth" + 72), sum("ResolutionWidth" + 73), sum("ResolutionWidth" + 74),
    sum("ResolutionWidth" + 75), sum("ResolutionWidth" + 76), sum("ResolutionWidth" + 77),
    sum("ResolutionWidth" + 78), sum("ResolutionWidth" + 79), sum("ResolutionWidth" + 80),
    sum("ResolutionWidth" + 81), sum("ResolutionWidth" + 82), sum("ResolutionWidth" + 83),
    sum("ResolutionWidth" + 84), sum("ResolutionWidth" + 85), sum("ResolutionWidth" + 86),
    sum("ResolutionWidth" + 87), sum("ResolutionWidth" + 88), sum("ResolutionWidth" + 89)
FROM hits;

SELECT "SearchEngineID", "ClientIP", count(*) AS views, sum("IsRefresh"), avg("ResolutionWidth") FROM hits
WHERE "SearchPhrase" <> ''
GROUP BY "SearchEngineID", "ClientIP" ORDER BY views DESC, "SearchEngineID", "ClientIP" LIMIT 10;

SELECT "WatchID", "ClientIP", count(*) AS views, sum("IsRefresh"), avg("ResolutionWidth") FROM hits
WHERE "SearchPhrase" <> ''
GROUP BY "WatchID", "ClientIP" ORDER BY views DESC, "WatchID", "ClientIP" LIMIT 10;

SELECT "WatchID", "ClientIP", count(*) AS views, sum("IsRefresh"), avg("ResolutionWidth") FROM hits
GROUP BY "WatchID", "ClientIP" ORDER BY views DESC, "WatchID", "ClientIP" LIMIT 10;

SELECT "URL", count(*) AS views FROM hits
GROUP BY "URL" ORDER BY views DESC, "URL" LIMIT 10;

SELECT 1, "URL", count(*) AS views FROM hits
GROUP BY 1, "URL" ORDER BY views DESC, "URL" LIMIT 10;

SELECT "ClientIP", "ClientIP" - 1, "ClientIP" - 2, "ClientIP" - 3, count(*) AS views FROM hits
GROUP BY "ClientIP", "ClientIP" - 1, "ClientIP" - 2, "ClientIP" - 3 ORDER BY views DESC, "ClientIP" LIMIT 10;

SELECT "URL", count(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" BETWEEN DATE '2013-07-01' AND DATE '2013-07-31'
    AND "DontCountHits" = 0 AND "IsRefresh" = 0 AND "URL" <> ''
GROUP BY "URL" ORDER BY views DESC, "URL" LIMIT 10;

SELECT "Title", count(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" BETWEEN DATE '2013-07-01' AND DATE '2013-07-31'
    AND "DontCountHits" = 0 AND "IsRefresh" = 0 AND "Title" <> ''
GROUP BY "Title" ORDER BY views DESC, "Title" LIMIT 10;

SELECT "URL", count(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" BETWEEN DATE '2013-07-01' AND DATE '2013-07-31'
    AND "IsRefresh" = 0 AND "IsLink" <> 0 AND "IsDownload" = 0
GROUP BY "URL" ORDER BY views DESC, "URL" LIMIT 10 OFFSET 100;

SELECT "TraficSourceID", "SearchEngineID", "AdvEngineID",
    CASE WHEN "SearchEngineID" = 0 AND "AdvEngineID" = 0 THEN "Referer" ELSE '' END AS source,
    "URL" AS target, count(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" BETWEEN DATE '2013-07-01' AND DATE '2013-07-31' AND "IsRefresh" = 0
GROUP BY "TraficSourceID", "SearchEngineID", "AdvEngineID", source, target
ORDER BY views DESC, "TraficSourceID", "SearchEngineID", "AdvEngineID", source, target LIMIT 10 OFFSET 1000;

SELECT "URLHash", "EventDate", count(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" BETWEEN DATE '2013-07-01' AND DATE '2013-07-31'
    AND "IsRefresh" = 0 AND "TraficSourceID" IN (-1, 6) AND "RefererHash" = 340512782636348001
GROUP BY "URLHash", "EventDate" ORDER BY views DESC, "URLHash", "EventDate" LIMIT 10 OFFSET 100;

SELECT "WindowClientWidth", "WindowClientHeight", count(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" BETWEEN DATE '2013-07-01' AND DATE '2013-07-31'
    AND "IsRefresh" = 0 AND "DontCountHits" = 0 AND "URLHash" = 340512782636348001
GROUP BY "WindowClientWidth", "WindowClientHeight"
ORDER BY views DESC, "WindowClientWidth", "WindowClientHeight" LIMIT 10 OFFSET 100;

SELECT date_trunc('minute', "EventTime") AS m, count(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" BETWEEN DATE '2013-07-14' AND DATE '2013-07-15'
    AND "IsRefresh" = 0 AND "DontCountHits" = 0
GROUP BY m ORDER BY m LIMIT 10 OFFSET 100;
