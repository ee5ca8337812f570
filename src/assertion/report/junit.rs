//! For CI servers: `JUnit` XML. A test of the suite is a test case; what did not hold is its failure, what
//! could not be judged its error.

use std::io;

use quick_junit::{NonSuccessKind, Report as XmlReport, TestCase, TestCaseStatus, TestSuite};

use super::super::finding::Status;
use super::text::Text;
use super::{Format, Report, Style, TestResult};

pub(super) struct JUnit;

impl Format for JUnit {
    const NAME: &'static str = "junit";
    const SUMMARY: &'static str = "JUnit XML, for CI servers";
    const EXTENSION: &'static str = "xml";

    fn write(report: &Report, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
        let mut suite = TestSuite::new(report.suite.as_str());
        for test in &report.tests {
            suite.add_test_case(test_case(report, test)?);
        }
        let mut xml = XmlReport::new("meddler");
        xml.add_test_suite(suite);
        xml.serialize(&mut *to).map_err(io::Error::other)
    }
}

fn test_case(report: &Report, test: &TestResult) -> io::Result<TestCase> {
    let mut status = match test.status {
        Status::Held => TestCaseStatus::success(),
        Status::Skipped => TestCaseStatus::skipped(),
        Status::Failed | Status::Vacuous => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    let worst = test.assertions.iter().find(|check| check.status == test.status);
    if test.status != Status::Held
        && let Some(worst) = worst
    {
        status.set_type(test.status.as_str());
        if let Some(finding) = worst.findings.first() {
            let message = format!(
                "{}: expected {}, actual {}",
                worst.assertion, finding.expected, finding.actual
            );
            status.set_message(message);
        }
        let mut details = Vec::new();
        Text::explain(report, test, Style::Plain, &mut details)?;
        status.set_description(String::from_utf8_lossy(&details).trim_end());
    }
    let mut case = TestCase::new(test.name.as_str(), status);
    case.set_classname(report.suite.as_str());
    case.set_assertions(test.assertions.len());
    Ok(case)
}
