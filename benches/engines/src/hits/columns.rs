//! The columns with the published names and types, in the published order.

use super::skew::hash;
use super::visit::Hit;
use arrow::array::{
    ArrayRef, Date32Array, Int16Array, Int32Array, Int64Array, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, TimeUnit};
use std::sync::Arc;

/// A column, without nulls.
pub(super) struct Column {
    name: &'static str,
    values: Values,
}

/// The type of a column, and its value in a row.
enum Values {
    Int16(fn(&Hit) -> i16),
    Int32(fn(&Hit) -> i32),
    Int64(fn(&Hit) -> i64),
    Text(fn(&Hit) -> &str),
    /// In seconds since 1970.
    Time(fn(&Hit) -> i64),
    /// The date of such a time.
    Date(fn(&Hit) -> i64),
}

impl Column {
    pub(super) fn field(&self) -> Field {
        let data_type = match self.values {
            Values::Int16(_) => DataType::Int16,
            Values::Int32(_) => DataType::Int32,
            Values::Int64(_) => DataType::Int64,
            Values::Text(_) => DataType::Utf8View,
            // Parquet has no seconds.
            Values::Time(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
            Values::Date(_) => DataType::Date32,
        };
        Field::new(self.name, data_type, false)
    }

    pub(super) fn array(&self, hits: &[Hit]) -> ArrayRef {
        match self.values {
            Values::Int16(value) => Arc::new(Int16Array::from_iter_values(hits.iter().map(value))),
            Values::Int32(value) => Arc::new(Int32Array::from_iter_values(hits.iter().map(value))),
            Values::Int64(value) => Arc::new(Int64Array::from_iter_values(hits.iter().map(value))),
            Values::Text(value) => {
                Arc::new(StringViewArray::from_iter_values(hits.iter().map(value)))
            }
            Values::Time(value) => {
                let times = hits.iter().map(|hit| value(hit) * 1_000_000);
                Arc::new(TimestampMicrosecondArray::from_iter_values(times))
            }
            Values::Date(value) => {
                let days = hits.iter().map(|hit| value(hit).div_euclid(86_400) as i32);
                Arc::new(Date32Array::from_iter_values(days))
            }
        }
    }
}

const fn int16(name: &'static str, value: fn(&Hit) -> i16) -> Column {
    let values = Values::Int16(value);
    Column { name, values }
}

const fn int32(name: &'static str, value: fn(&Hit) -> i32) -> Column {
    let values = Values::Int32(value);
    Column { name, values }
}

const fn int64(name: &'static str, value: fn(&Hit) -> i64) -> Column {
    let values = Values::Int64(value);
    Column { name, values }
}

const fn text(name: &'static str, value: fn(&Hit) -> &str) -> Column {
    let values = Values::Text(value);
    Column { name, values }
}

const fn time(name: &'static str, value: fn(&Hit) -> i64) -> Column {
    let values = Values::Time(value);
    Column { name, values }
}

const fn date(name: &'static str, value: fn(&Hit) -> i64) -> Column {
    let values = Values::Date(value);
    Column { name, values }
}

pub(super) static COLUMNS: [Column; 105] = [
    int64("WatchID", |hit| hit.watch_id),
    int16("JavaEnable", |hit| hit.visitor.java),
    text("Title", |hit| &hit.title),
    int16("GoodEvent", |_| 1),
    time("EventTime", |hit| hit.time),
    date("EventDate", |hit| hit.time),
    int32("CounterID", |hit| hit.site.counter),
    int32("ClientIP", |hit| hit.address),
    int32("RegionID", |hit| hit.visitor.region),
    int64("UserID", |hit| hit.visitor.user_id),
    int16("CounterClass", |hit| hit.site.counter_class),
    int16("OS", |hit| hit.visitor.system),
    int16("UserAgent", |hit| hit.visitor.browser),
    text("URL", |hit| &hit.url),
    text("Referer", |hit| &hit.origin.referer),
    int16("IsRefresh", |hit| hit.refresh),
    int16("RefererCategoryID", |hit| hit.referer_category),
    int32("RefererRegionID", |hit| {
        i32::from(hit.referer_category) % 300
    }),
    int16("URLCategoryID", |hit| hit.site.category),
    int32("URLRegionID", |hit| hit.site.region),
    int16("ResolutionWidth", |hit| hit.visitor.screen.0),
    int16("ResolutionHeight", |hit| hit.visitor.screen.1),
    int16("ResolutionDepth", |hit| hit.visitor.screen.2),
    int16("FlashMajor", |hit| hit.visitor.flash.0),
    int16("FlashMinor", |hit| hit.visitor.flash.1),
    text("FlashMinor2", |hit| hit.visitor.flash.2),
    int16("NetMajor", |hit| hit.visitor.net.0),
    int16("NetMinor", |hit| hit.visitor.net.1),
    int16("UserAgentMajor", |hit| hit.visitor.browser_major),
    text("UserAgentMinor", |hit| hit.visitor.browser_minor),
    int16("CookieEnable", |hit| hit.visitor.cookies),
    int16("JavascriptEnable", |_| 1),
    int16("IsMobile", |hit| hit.visitor.mobile),
    int16("MobilePhone", |hit| hit.visitor.phone),
    text("MobilePhoneModel", |hit| &hit.visitor.phone_model),
    text("Params", |hit| &hit.parameters),
    int32("IPNetworkID", |hit| hit.visitor.network),
    int16("TraficSourceID", |hit| hit.origin.source),
    int16("SearchEngineID", |hit| hit.origin.search_engine),
    text("SearchPhrase", |hit| &hit.origin.phrase),
    int16("AdvEngineID", |hit| hit.origin.adv_engine),
    int16("IsArtifical", |hit| hit.artificial),
    int16("WindowClientWidth", |hit| hit.window.0),
    int16("WindowClientHeight", |hit| hit.window.1),
    int16("ClientTimeZone", |hit| hit.visitor.time_zone),
    time("ClientEventTime", |hit| hit.time + hit.visitor.clock_error),
    int16("SilverlightVersion1", |hit| hit.visitor.silverlight.0),
    int16("SilverlightVersion2", |hit| hit.visitor.silverlight.1),
    int32("SilverlightVersion3", |hit| hit.visitor.silverlight.2),
    int16("SilverlightVersion4", |hit| hit.visitor.silverlight.3),
    text("PageCharset", |hit| hit.site.charset),
    int32("CodeVersion", |hit| hit.site.code_version),
    int16("IsLink", |hit| hit.link),
    int16("IsDownload", |hit| hit.download),
    int16("IsNotBounce", |hit| hit.not_bounce),
    int64("FUniqID", |hit| hit.visitor.unique_id),
    text("OriginalURL", |hit| &hit.original_url),
    int32("HID", |hit| hit.page_view),
    int16("IsOldCounter", |hit| hit.old_counter),
    int16("IsEvent", |hit| hit.event),
    int16("IsParameter", |hit| hit.parameter),
    int16("DontCountHits", |hit| hit.not_counted),
    int16("WithHash", |hit| hit.with_hash),
    text("HitColor", |hit| hit.color),
    time("LocalEventTime", |hit| {
        hit.time - i64::from(hit.visitor.time_zone) * 60
    }),
    int16("Age", |hit| hit.visitor.age),
    int16("Sex", |hit| hit.visitor.sex),
    int16("Income", |hit| hit.visitor.income),
    int16("Interests", |hit| hit.visitor.interests),
    int16("Robotness", |hit| hit.visitor.robotness),
    int32("RemoteIP", |hit| hit.address),
    int32("WindowName", |hit| hit.window_name),
    int32("OpenerName", |hit| hit.opener),
    int16("HistoryLength", |hit| hit.history),
    text("BrowserLanguage", |hit| hit.visitor.language.0),
    text("BrowserCountry", |hit| hit.visitor.language.1),
    text("SocialNetwork", |hit| hit.social.0),
    text("SocialAction", |hit| hit.social.1),
    int16("HTTPError", |hit| hit.error),
    int32("SendTiming", |hit| hit.timings.send),
    int32("DNSTiming", |hit| hit.timings.dns),
    int32("ConnectTiming", |hit| hit.timings.connect),
    int32("ResponseStartTiming", |hit| hit.timings.response_start),
    int32("ResponseEndTiming", |hit| hit.timings.response_end),
    int32("FetchTiming", |hit| hit.timings.fetch),
    int16("SocialSourceNetworkID", |hit| hit.origin.social_network),
    text("SocialSourcePage", |hit| hit.social_page()),
    int64("ParamPrice", |hit| {
        hit.order.as_ref().map_or(0, |order| order.price)
    }),
    text("ParamOrderID", |hit| {
        hit.order.as_ref().map_or("", |order| &order.id)
    }),
    text("ParamCurrency", |hit| {
        hit.order.as_ref().map_or("", |_| "RUB")
    }),
    int16("ParamCurrencyID", |hit| {
        hit.order.as_ref().map_or(0, |_| 643)
    }),
    text("OpenstatServiceName", |hit| {
        hit.openstat().map_or("", |campaign| campaign.source)
    }),
    text("OpenstatCampaignID", |hit| {
        hit.openstat().map_or("", |campaign| &campaign.name)
    }),
    text("OpenstatAdID", |hit| {
        hit.openstat().map_or("", |campaign| &campaign.content)
    }),
    text("OpenstatSourceID", |hit| {
        hit.openstat().map_or("", |campaign| &campaign.term)
    }),
    text("UTMSource", |hit| {
        hit.utm().map_or("", |campaign| campaign.source)
    }),
    text("UTMMedium", |hit| hit.utm().map_or("", |_| "cpc")),
    text("UTMCampaign", |hit| {
        hit.utm().map_or("", |campaign| &campaign.name)
    }),
    text("UTMContent", |hit| {
        hit.utm().map_or("", |campaign| &campaign.content)
    }),
    text("UTMTerm", |hit| {
        hit.utm().map_or("", |campaign| &campaign.term)
    }),
    text("FromTag", |hit| hit.tag),
    int16("HasGCLID", |hit| {
        i16::from(
            hit.utm()
                .is_some_and(|campaign| campaign.source == "google"),
        )
    }),
    int64("RefererHash", |hit| hash(&hit.origin.referer)),
    int64("URLHash", |hit| hash(&hit.url)),
    int32("CLID", |hit| hit.client),
];
