-- key 7ab7d560ccf9104feaf776af76fe8b71696f39beaf7675ea10953436dc174df2
CREATE TABLE discreet_datasets (
        dataset TEXT PRIMARY KEY,
        relation TEXT NOT NULL,
        accountant TEXT NOT NULL,
        epsilon DOUBLE PRECISION NOT NULL,
        delta DOUBLE PRECISION NOT NULL,
        schema_digest TEXT NOT NULL,
        budget_loss BIGINT NOT NULL,
        budget_delta BIGINT NOT NULL,
        spent_loss BIGINT NOT NULL CHECK (spent_loss BETWEEN 0 AND budget_loss),
        spent_delta BIGINT NOT NULL CHECK (spent_delta BETWEEN 0 AND budget_delta),
        created TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        digest TEXT NOT NULL,
        seal TEXT NOT NULL
    );
INSERT INTO discreet_datasets VALUES('adult','replace-one','basic',3.0,1.0e-06,'5c4e',3000000000000,1000000,60,1,'2026-11-16T00:02:10.377192+00:00',4,'078f550dd42d4fab2528b26b54b329b49f169e35f70f68e25111ee68df34fdef','9b3a03bfe84bb2ce728d666d8b08b5c1ee37b264e6633711aee3e97fec157c11');
CREATE TABLE discreet_entries (
        dataset TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        kind TEXT NOT NULL,
        reference TEXT NOT NULL,
        analyst TEXT,
        loss BIGINT NOT NULL,
        delta BIGINT NOT NULL,
        plan_key TEXT NOT NULL,
        version TEXT NOT NULL,
        body_digest TEXT NOT NULL,
        note TEXT NOT NULL,
        time TEXT NOT NULL,
        previous TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (dataset, sequence),
        UNIQUE (kind, reference)
    );
INSERT INTO discreet_entries VALUES('adult',1,'register','61081ea72b56481db4af31bc13fb6055',NULL,3000000000000,1000000,'','','','{"accountant": "basic", "created": "2026-11-16T00:02:10.377192+00:00", "delta": 1e-06, "epsilon": 3.0, "relation": "replace-one", "schema_digest": "5c4e"}','2026-11-16T00:02:10.380036+00:00','0000000000000000000000000000000000000000000000000000000000000000','7800e7130914f727499aa6b243e6f2b92b943a78bbf6f6289e0e7e5d48ed353e');
INSERT INTO discreet_entries VALUES('adult',2,'reserve','73ed32e2e9104a98861bbb72d1bba092','ann',10,1,'plan','','','{"plan": "partial_dependence"}','2026-11-16T00:02:10.390445+00:00','7800e7130914f727499aa6b243e6f2b92b943a78bbf6f6289e0e7e5d48ed353e','4c232e5cab730cef8aee7931a128cd992452c4bcc24413a3857eb199bd810ab0');
INSERT INTO discreet_entries VALUES('adult',3,'settle','73ed32e2e9104a98861bbb72d1bba092','ann',0,0,'plan','2024','e1d70a18cc129fcc812ebbe309bc5197df6ffa2228c77a4a7b98653ec5605354','{}','2026-11-16T00:02:10.393532+00:00','4c232e5cab730cef8aee7931a128cd992452c4bcc24413a3857eb199bd810ab0','d1bf3229b36472067e0e226c330d1c359c00f2ec2d4eeb7f14d806b52c50ae6b');
INSERT INTO discreet_entries VALUES('adult',4,'reserve','91413d8cdb7b4a6cadcdd06e0234ed71',NULL,50,0,'other','','','{}','2026-11-16T00:02:10.395830+00:00','d1bf3229b36472067e0e226c330d1c359c00f2ec2d4eeb7f14d806b52c50ae6b','078f550dd42d4fab2528b26b54b329b49f169e35f70f68e25111ee68df34fdef');
CREATE TABLE discreet_keys (mark TEXT PRIMARY KEY);
INSERT INTO discreet_keys VALUES('0b602e9d2f17113f2a3755c9d14b29fa7b52151f29c2f16a6efb676ba84a9942');
CREATE TABLE discreet_migrations (number INTEGER PRIMARY KEY, applied TEXT NOT NULL);
INSERT INTO discreet_migrations VALUES(1,'2026-11-16T00:02:10+00:00');
CREATE TABLE discreet_releases (
        reservation TEXT PRIMARY KEY,
        dataset TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        version TEXT NOT NULL,
        plan_key TEXT NOT NULL,
        body TEXT NOT NULL
    );
INSERT INTO discreet_releases VALUES('73ed32e2e9104a98861bbb72d1bba092','adult',3,'2024','plan','{"value": 1}');
CREATE INDEX discreet_releases_by_plan ON discreet_releases (dataset, version, plan_key, sequence);
